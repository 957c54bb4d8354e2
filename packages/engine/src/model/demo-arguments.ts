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
  const clues = cluesOf(said, tool);
  const numbers = claimedNumbers(properties, clues, said);
  const input: JsonObject = {};
  for (const [name, field] of Object.entries(properties)) {
    const found = numbers.get(name) ?? valueFor(name, field, required.includes(name), clues, said);
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

function cluesOf(said: string, tool: DemoTool): Clues {
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
    rest: withoutRequest(plain, tool),
  };
}

/** Numbers that stand beside their field's name: "20 sides", "sides: 20". They are no clue for other fields then. */
function claimedNumbers(
  properties: Record<string, Field>,
  clues: Clues,
  said: string,
): Map<string, number> {
  const claimed = new Map<string, number>();
  for (const [name, field] of Object.entries(properties)) {
    if (field.type !== "integer" && field.type !== "number") continue;
    const spelling = `${spelled(name.replace(/s$/, ""))}[sd]?`;
    const found = new RegExp(
      `(-?\\d+(?:\\.\\d+)?)[\\s-]+${spelling}\\b|\\b${spelling}\\s*(?:=|:|is|of|to)?\\s*(-?\\d+(?:\\.\\d+)?)`,
      "i",
    ).exec(said);
    if (!found) continue;
    const number = Number(found[1] ?? found[2]);
    const at = clues.numbers.indexOf(number);
    if (at >= 0) clues.numbers.splice(at, 1);
    claimed.set(name, bounded(number, field));
  }
  return claimed;
}

/** What is left of a sentence without the words that ask for the tool. */
function withoutRequest(said: string, tool: DemoTool): string {
  const asking = new Set([
    ...`please can could would you will the a an my me your all some use call run try invoke tool to with for on about of ${firstSentence(tool.description)} ${tool.name}`
      .toLowerCase()
      .split(/[^a-z0-9]+/),
  ]);
  const words = said.trim().split(/\s+/);
  const isAsking = (word: string) => {
    const plain = word.toLowerCase().replace(/[^a-z0-9]/g, "");
    return plain === "" || asking.has(plain) || asking.has(plain.replace(/s$/, ""));
  };
  while (words[0] !== undefined && (words[0] === tool.name || isAsking(words[0]))) words.shift();
  return words.join(" ").replace(/[.!?]$/, "");
}

function firstSentence(text: string): string {
  return text.split(/[.!?\n]/)[0] ?? "";
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
  switch (type) {
    case "integer":
    case "number": {
      const value = clues.numbers.shift() ?? fallback;
      if (typeof value === "number") return bounded(value, field);
      return isRequired ? bounded(1, field) : undefined;
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
  if (!isRequired) return optionalText(name, said);
  if (bodyField.test(name)) return clues.quoted.shift() ?? clues.body ?? (clues.rest || undefined);
  const words = clues.quoted.shift() ?? clues.name ?? clues.body ?? clues.rest;
  if (words === "") return undefined;
  if (!nameField.test(name)) return words;
  const short = words.split(/\s+/).slice(0, 5).join(" ");
  if (isPath) return `${slugOf(short)}.md`;
  return isSlug ? slugOf(short) : short;
}

/** An optional text only where its field is named: "containing milk". */
function optionalText(name: string, said: string): string | undefined {
  const found = new RegExp(`\\b${spelled(name)}\\s+(?:"([^"]*)"|“([^”]*)”|(\\S+))`, "i").exec(said);
  return found?.slice(1).find((it) => it !== undefined);
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

function bounded(value: number, { type, minimum, maximum }: Field): number {
  const whole = type === "integer" ? Math.round(value) : value;
  return Math.min(Math.max(whole, minimum ?? -Infinity), maximum ?? Infinity);
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
