// Reads stream-json lines of coding agents: what they say of the conversation. Never trusts their shape.

import { type BlobRef, cut, type Json, type JsonObject } from "@lichen/wire";

/** A piece of an assistant's message. */
type Said =
  | { readonly text: string | BlobRef }
  | { readonly tool: string; readonly input: JsonObject };

/** What one line says of the whole conversation. */
export interface LineFacts {
  readonly said: readonly Said[];
  /** No model said it: the harness did, for people to see. */
  readonly isMadeUp?: true;
  readonly model?: string;
  /** Tokens of the model's context that the conversation fills. */
  readonly contextUsed?: number;
  readonly contextWindow?: number;
}

const nothing: LineFacts = { said: [] };
/** What Claude Code calls the model of messages that it wrote itself. */
export const synthetic = "<synthetic>";

export function factsOf(line: Json): LineFacts {
  const fields = objectIn(line);
  const { type } = fields;
  if (type === "system" && fields["subtype"] === "init")
    return { ...nothing, ...modelIn(fields["model"]), ...ownWindow(fields["context_window"]) };
  // What a sub-agent says is not the conversation's own.
  if (type === "assistant" && (fields["parent_tool_use_id"] ?? null) === null)
    return ofMessage(fields["message"]);
  if (type === "result") return { ...nothing, ...windowIn(objectIn(fields["modelUsage"])) };
  return nothing;
}

/** How a line says that a turn ended; undefined for one that says nothing of it. */
export function endingOf(line: Json): "good" | "bad" | undefined {
  const { type, subtype, is_error: isError } = objectIn(line);
  if (type !== "result") return undefined;
  return isError === true || (subtype !== undefined && subtype !== "success") ? "bad" : "good";
}

/** Whether somebody says or does something in the line: a turn goes on. */
export function isOfTurn(line: Json): boolean {
  const { type } = objectIn(line);
  return type === "assistant" || type === "user";
}

function ofMessage(value: Json | undefined): LineFacts {
  const message = objectIn(value);
  const content = message["content"];
  const blocks = Array.isArray(content) ? content.map(objectIn) : [];
  const said = blocks.flatMap((block): Said[] => {
    const { type, text, name, input } = block;
    if (type === "text" && typeof text === "string") return [{ text }];
    if (type === "text" && isBlob(text)) return [{ text }];
    if (type === "tool_use" && typeof name === "string")
      return [{ tool: name, input: objectIn(input) }];
    return [];
  });
  if (message["model"] === synthetic) return { said, isMadeUp: true };
  const model = modelIn(message["model"]);
  if (model === undefined) return { said };
  return { said, ...model, ...contextIn(objectIn(message["usage"])) };
}

function modelIn(value: Json | undefined): { model: string } | undefined {
  return typeof value === "string" && value !== "" ? { model: value } : undefined;
}

function contextIn(usage: JsonObject): { contextUsed: number } | undefined {
  const counts = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map(
    (name) => usage[name],
  );
  if (!counts.some((count) => typeof count === "number")) return undefined;
  return {
    contextUsed: counts.reduce<number>((sum, it) => sum + (typeof it === "number" ? it : 0), 0),
  };
}

function ownWindow(value: Json | undefined): { contextWindow: number } | undefined {
  return typeof value === "number" ? { contextWindow: value } : undefined;
}

/** The largest window of those used: helper models have smaller ones. */
function windowIn(usage: JsonObject): { contextWindow: number } | undefined {
  const windows = Object.values(usage)
    .map((model) => objectIn(model)["contextWindow"])
    .filter((it) => typeof it === "number");
  return windows.length === 0 ? undefined : { contextWindow: Math.max(...windows) };
}

/** What a tool is about, in a word or two of its input. */
export function gistOf(input: JsonObject): string {
  const names = [
    "description",
    "command",
    "file_path",
    "path",
    "pattern",
    "url",
    "query",
    "prompt",
  ];
  const first = names.map((name) => input[name]).find((it) => typeof it === "string" && it !== "");
  return typeof first === "string" ? first : "";
}

/** The first `count` characters, whole ones, on one line. */
export function oneLine(text: string, count: number): string {
  // No character takes more than two units; spaces that fall together are few.
  const flat = cut(text, count * 8)
    .replace(/\s+/g, " ")
    .trim();
  return charactersOf(flat, count);
}

/** The first `count` characters: no pair of units is torn. */
export function charactersOf(text: string, count: number): string {
  return Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join("");
}

export function objectIn(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Whether a text was put aside. */
function isBlob(value: Json | undefined): value is BlobRef & JsonObject {
  const { blob, mimeType, bytes } = objectIn(value);
  return typeof blob === "string" && typeof mimeType === "string" && typeof bytes === "number";
}
