// Arguments for a tool, drawn from one sentence and the tool's JSON Schema. Pure.

import { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";
import type { DemoTool } from "./demo-reply.ts";

export type Filled =
  | { readonly input: JsonObject }
  | { readonly input?: undefined; readonly problem: string; readonly example: string };

const Field = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(Json).optional(),
  const: Json.optional(),
  default: Json.optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
});
type Field = z.infer<typeof Field>;
const Schema = z.looseObject({
  properties: z.record(z.string(), Field).default({}),
  required: z.array(z.string()).default([]),
});

const bodyField = /text|content|body|message|note|prompt|query|question|command|input|value|data/i;
const nameField = /name|title|file|path|subject|topic|slug|id|key/i;

/** The arguments, or what is missing and an example to copy. */
export function argumentsFrom(said: string, tool: DemoTool): Filled {
  const schema = Schema.safeParse(tool.parameters);
  if (!schema.success) return { input: {} };
  const { properties, required } = schema.data;
  const given = said.indexOf("{");
  if (given >= 0) return written(said.slice(given), properties, required);
  const clues = cluesOf(said, tool.name);
  const input: JsonObject = {};
  for (const [name, field] of Object.entries(properties)) {
    const found = valueFor(name, field, required.includes(name), clues, said);
    if (found !== undefined) input[name] = found;
  }
  const missing = required.filter((name) => input[name] === undefined);
  return missing.length === 0
    ? { input }
    : {
        problem: `I found nothing for ${missing.map((it) => `"${it}"`).join(" and ")} in your sentence.`,
        example: exampleOf(properties, required),
      };
}

function written(text: string, properties: Record<string, Field>, required: string[]): Filled {
  try {
    const parsed = JsonObject.safeParse(JSON.parse(text.slice(0, text.lastIndexOf("}") + 1)));
    if (parsed.success) return { input: parsed.data };
  } catch {
    // Told below.
  }
  return {
    problem: "what you wrote after the name is not a JSON object.",
    example: exampleOf(properties, required),
  };
}

interface Clues {
  /** Quoted texts that no field took yet. */
  quoted: string[];
  numbers: number[];
  body: string | undefined;
  name: string | undefined;
  path: string | undefined;
  rest: string;
}

function cluesOf(said: string, tool: string): Clues {
  const quoted = [...said.matchAll(/"([^"]*)"|“([^”]*)”|`([^`]*)`/g)].map(
    (it) => it[1] ?? it[2] ?? it[3] ?? "",
  );
  const plain = said.replace(/"[^"]*"|“[^”]*”|`[^`]*`/g, " ");
  return {
    quoted,
    numbers: [...plain.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?(?![\w])/g)].map((it) => Number(it[0])),
    body: /\b(?:that says|which says|saying|that reads|with (?:the )?(?:text|content|message|body)|to say)\b[\s:]*(.+)$|:\s+(.+)$/is
      .exec(said)
      ?.slice(1)
      .find((it) => it !== undefined)
      ?.trim()
      .replace(/^["“]|["”.]$/g, ""),
    name: /\b(?:called|named|titled|with (?:the )?(?:name|title))\s+(?:["“]([^"”]+)["”]|(\S+))/i
      .exec(said)
      ?.slice(1)
      .find((it) => it !== undefined)
      ?.replace(/[.,;!?]$/, ""),
    path: /(?<![\w/])((?:[\w.-]+\/)*[\w-]+\.[A-Za-z]\w{0,4})\b/.exec(plain)?.[1],
    rest: plain
      .replace(
        /^(?:please\s+)?(?:(?:can|could|would)\s+you\s+)?(?:(?:call|use|run|try|invoke)\s+(?:the\s+)?\S+(?:\s+tool)?(?:\s+(?:to|and|with|for|on|about))?)?/i,
        "",
      )
      .replace(new RegExp(`^\\s*${spelled(tool)}`, "i"), "")
      .trim(),
  };
}

function valueFor(
  name: string,
  field: Field,
  isRequired: boolean,
  clues: Clues,
  said: string,
): Json | undefined {
  if (field.const !== undefined) return field.const;
  if (field.enum) {
    const named = field.enum.find(
      (it) => typeof it === "string" && said.toLowerCase().includes(it.toLowerCase()),
    );
    return named ?? (isRequired ? (field.default ?? field.enum[0]) : undefined);
  }
  const fallback = isRequired ? field.default : undefined;
  const type = Array.isArray(field.type) ? field.type.find((it) => it !== "null") : field.type;
  const beside = new RegExp(
    `\\b${spelled(name)}\\b\\s*(?:=|:|is|of|to)?\\s*("[^"]*"|“[^”]*”|[\\w./-]+)`,
    "i",
  )
    .exec(said)?.[1]
    ?.replace(/^["“]|["”]$/g, "");
  switch (type) {
    case "integer":
    case "number": {
      const number =
        beside !== undefined && /^-?\d+(\.\d+)?$/.test(beside) ? Number(beside) : undefined;
      const at = clues.numbers.indexOf(number ?? Number.NaN);
      if (at >= 0) clues.numbers.splice(at, 1);
      const value = number ?? clues.numbers.shift() ?? fallback;
      if (typeof value !== "number") return isRequired ? bounded(1, field) : undefined;
      return bounded(type === "integer" ? Math.round(value) : value, field);
    }
    case "boolean":
      return new RegExp(`\\b${spelled(name)}\\b`, "i").test(said)
        ? true
        : isRequired
          ? (fallback ?? false)
          : undefined;
    case "array":
      return isRequired
        ? clues.quoted.length > 0
          ? clues.quoted.splice(0)
          : clues.rest.split(/\s*(?:,|\band\b)\s*/).filter(Boolean)
        : undefined;
    case "object":
      return isRequired ? (fallback ?? undefined) : undefined;
    case undefined:
    case "string":
      return textFor(name, field, isRequired, clues, said) ?? fallback;
    default:
      return fallback;
  }
}

function textFor(
  name: string,
  field: Field,
  isRequired: boolean,
  clues: Clues,
  said: string,
): string | undefined {
  const explicit = new RegExp(`\\b${spelled(name)}\\s*[=:]\\s*("[^"]*"|\\S+)`, "i").exec(said)?.[1];
  if (explicit !== undefined) return explicit.replace(/^"|"$/g, "");
  const isPath = /path|file/i.test(name) || field.format === "uri-reference";
  const isSlug = field.pattern !== undefined || /slug|\bid\b|key/i.test(name);
  if (isPath && clues.path !== undefined) return clues.path;
  if (nameField.test(name) && !bodyField.test(name) && clues.name !== undefined)
    return isSlug ? slugOf(clues.name) : clues.name;
  if (!isRequired) return undefined;
  if (bodyField.test(name)) return clues.quoted.shift() ?? clues.body ?? (clues.rest || undefined);
  const words = clues.quoted.shift() ?? clues.name ?? clues.body ?? clues.rest;
  if (words === "") return undefined;
  if (!nameField.test(name)) return words;
  const short = words.split(/\s+/).slice(0, 5).join(" ");
  if (isPath) return `${slugOf(short)}.md`;
  return isSlug ? slugOf(short) : short;
}

/** A name as a pattern, however its words are joined; a name without letters is found nowhere. */
function spelled(name: string): string {
  return name.match(/[A-Za-z0-9]+/g)?.join("[\\s_-]?") ?? "(?!)";
}

function slugOf(text: string): string {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "untitled"
  );
}

function bounded(value: number, { minimum, maximum }: Field): number {
  return Math.min(Math.max(value, minimum ?? -Infinity), maximum ?? Infinity);
}

function exampleOf(properties: Record<string, Field>, required: string[]): string {
  const example: JsonObject = {};
  for (const name of required) {
    const field = properties[name];
    const type = Array.isArray(field?.type) ? field.type[0] : field?.type;
    example[name] =
      field?.enum?.[0] ??
      field?.default ??
      (type === "number" || type === "integer"
        ? 1
        : type === "boolean"
          ? true
          : type === "array"
            ? ["…"]
            : type === "object"
              ? {}
              : "…");
  }
  return JSON.stringify(example);
}
