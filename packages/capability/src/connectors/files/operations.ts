// What the `files` kind lends: reading always, changing where the folder may be written.

import type { JsonObject } from "../../json.ts";
import type { Label, Operation } from "../../operation.ts";

const path = (what: string): JsonObject => ({ type: "string", description: what });
const anyPath = path("From the folder on, such as notes/today.md.");

/** In bytes: of one read, and of a file that is read or written whole. */
export const mostRead = 262_144;
export const mostWhole = 1_048_576;
export const mostListed = 1_000;
export const mostFound = 100;

const stat: JsonObject = {
  kind: { enum: ["file", "folder", "other"] },
  size: { type: "integer" },
  changedAt: { type: "string", description: "RFC 3339." },
  version: { type: "string", description: "Another one after each change." },
};

export const fileOperations: readonly Operation[] = [
  of("list", "read", "Lists a folder, names in order.", {
    properties: {
      path: path("The folder; the whole of it where left out."),
      after: { type: "string", description: "The last name of the page before." },
      limit: { type: "integer", minimum: 1, maximum: mostListed },
    },
    output: {
      entries: {
        type: "array",
        items: object({ name: { type: "string" }, kind: { enum: ["file", "folder", "other"] } }),
      },
      more: { type: "boolean" },
    },
  }),
  of("stat", "read", "Says what is at a path.", {
    properties: { path: anyPath },
    required: ["path"],
    output: stat,
  }),
  of("read", "read", "Reads a file: text, an image to look at, or any bytes as base64.", {
    properties: {
      path: anyPath,
      offset: { type: "integer", minimum: 0, description: "In bytes. Default 0." },
      limit: { type: "integer", minimum: 1, maximum: mostRead, description: "In bytes." },
      encoding: { enum: ["text", "base64"], description: "Default text." },
    },
    required: ["path"],
    output: {
      text: { type: "string" },
      base64: { type: "string" },
      size: { type: "integer", description: "Of the whole file." },
      next: { type: "integer", description: "Where to go on; missing at the end." },
      version: { type: "string" },
    },
    optional: ["text", "base64", "next"],
  }),
  of(
    "search",
    "read",
    "Finds lines that contain a text, past case, in the text files below a folder.",
    {
      properties: {
        text: { type: "string", minLength: 1, maxLength: 500 },
        path: path("Where to look; everywhere where left out."),
        limit: { type: "integer", minimum: 1, maximum: mostFound },
      },
      required: ["text"],
      output: {
        found: {
          type: "array",
          items: object({
            path: { type: "string" },
            line: { type: "integer", description: "From 1." },
            text: { type: "string" },
          }),
        },
        isWhole: {
          type: "boolean",
          description: "False where there was more than could be looked through.",
        },
      },
    },
  ),
  of(
    "write",
    "write",
    "Writes a whole text file: makes it, and the folders above it, or replaces all of it.",
    {
      properties: {
        path: anyPath,
        text: { type: "string" },
        create: { type: "boolean", description: "Refuse to replace what is there already." },
        version: { type: "string", description: "Only if the file is still the one that had it." },
      },
      required: ["path", "text"],
      output: {
        isNew: { type: "boolean" },
        size: { type: "integer" },
        version: { type: "string" },
      },
    },
  ),
  of("edit", "write", "Replaces a text in a file that stands there exactly once.", {
    properties: {
      path: anyPath,
      old: { type: "string", minLength: 1 },
      new: { type: "string" },
      all: { type: "boolean", description: "Replace it wherever it stands." },
    },
    required: ["path", "old", "new"],
    output: { replaced: { type: "integer" }, version: { type: "string" } },
  }),
  of("mkdir", "write", "Makes a folder, and those above it.", {
    properties: { path: anyPath },
    required: ["path"],
  }),
  of("move", "write", "Moves or renames a file or a folder; nothing is replaced.", {
    properties: { from: anyPath, to: anyPath },
    required: ["from", "to"],
  }),
  of("remove", "write", "Removes a file, or a folder that is empty.", {
    properties: { path: anyPath },
    required: ["path"],
  }),
];

interface Shape {
  readonly properties: JsonObject;
  readonly required?: readonly string[];
  readonly output?: JsonObject;
  /** Of the output. */
  readonly optional?: readonly string[];
}

function of(name: string, label: Label, description: string, shape: Shape): Operation {
  const { properties, required = [], output, optional = [] } = shape;
  return {
    name,
    description,
    label,
    input: { type: "object", properties, required, additionalProperties: false },
    ...(output && { output: object(output, optional) }),
    // Making what is there already changes nothing.
    ...(name === "mkdir" && { replaySafe: true }),
  };
}

function object(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  return {
    type: "object",
    properties,
    required: Object.keys(properties).filter((key) => !optional.includes(key)),
  };
}
