// What a tool answered, as code and models get it.
//
//   Structured content is the value. Without it, texts are joined to one, and a single text that is a JSON object or
//   list is that object or list. Images go out by the call's `image` and leave a note; other things keep their kind.

import type { CallContext } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { beyond, isDeeper, valueBounds } from "../json-bounds.ts";
import { isObject, textAt } from "../read-json.ts";
import { plain } from "./trouble.ts";

const shown = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The value of a call; undefined where the tool answered nothing. Throws an `OperationError` `tool_error`. */
export function valueOf(result: unknown, context: Pick<CallContext, "image">): Json | undefined {
  const value = read(result, context);
  if (!isDeeper(value, valueBounds.depth)) return value;
  throw new OperationError(
    "invalid_result",
    `The tool ran, and its answer is nested deeper than ${valueBounds.depth} levels, so it is not handed on: check what it did before you repeat it.`,
  );
}

function read(result: unknown, context: Pick<CallContext, "image">): Json | undefined {
  if (!isObject(result))
    throw new OperationError(
      "invalid_result",
      "The tool ran, and the server answered with something that is no result: check what it did before you repeat it.",
    );
  const content: readonly Json[] = Array.isArray(result["content"]) ? result["content"] : [];
  if (result["isError"] === true) {
    const words = content.map((block) => (isObject(block) ? block["text"] : undefined));
    const text = words.filter((one) => typeof one === "string").join("\n");
    throw new OperationError("tool_error", plain(text) || "The tool failed and did not say why.");
  }
  const structured = result["structuredContent"];
  if (structured !== undefined) {
    // Its texts say the same once more; what can be seen is handed out all the same.
    for (const block of content) if (isImage(block)) partOf(block, context);
    return structured;
  }
  const parts = content.map((block) => partOf(block, context));
  if (parts.length > 1 && parts.every((part) => typeof part === "string")) return parts.join("\n");
  if (parts.length > 1) return parts;
  const [only] = parts;
  return typeof only === "string" ? parsedWhereJson(only) : only;
}

function partOf(block: Json, context: Pick<CallContext, "image">): Json {
  if (!isObject(block)) return block;
  const type = textAt(block, "type") ?? "";
  switch (type) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : "";
    case "image":
    case "audio":
      return media(type, block["mimeType"], block["data"], {}, context);
    case "resource":
      return isObject(block["resource"]) ? resource(block["resource"], context) : block;
    case "resource_link":
      return kept(block, ["type", "uri", "name", "title", "description", "mimeType", "size"]);
    default:
      return block;
  }
}

function resource(held: JsonObject, context: Pick<CallContext, "image">): Json {
  const about = kept(held, ["uri", "mimeType"]);
  if (typeof held["text"] === "string") return { type: "resource", ...about, text: held["text"] };
  return media("resource", held["mimeType"], held["blob"], kept(held, ["uri"]), context);
}

function media(
  type: string,
  mimeType: Json | undefined,
  data: Json | undefined,
  about: JsonObject,
  context: Pick<CallContext, "image">,
): Json {
  const mediaType = typeof mimeType === "string" ? mimeType.toLowerCase() : "";
  if (typeof data !== "string") return { type, ...about, mimeType: mediaType };
  if (!shown.includes(mediaType)) return { type, ...about, mimeType: mediaType, data };
  return { ...about, ...context.image({ mediaType, bytes: bytesOf(data) }) };
}

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch (cause) {
    const problem =
      "The tool ran, and answered with an image that is not base64: check what it did before you repeat it.";
    throw new OperationError("invalid_result", problem, { cause });
  }
}

/** A text is taken for JSON where it is one object or list and nothing else: a number or word may be meant as text. */
function parsedWhereJson(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  if (beyond(new TextEncoder().encode(text), valueBounds) !== undefined) return text;
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    // It only begins like JSON.
    return text;
  }
}

function isImage(block: Json): boolean {
  return isObject(block) && block["type"] === "image";
}

function kept(held: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key) => (held[key] === undefined ? [] : [[key, held[key]]])),
  );
}
