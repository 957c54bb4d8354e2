// What a call of the agent looks like in our words: its name, label and input, and what became of it.

import type { Outcome, OutcomeBlock } from "@lichen/runtime";
import { cut, type Json, type JsonObject, type Label } from "@lichen/wire";
import type { Block, CallContent, CallFields, CallKind, CallLocation } from "./wire.ts";

/** A call as far as it was told. */
export interface KnownCall {
  readonly callId: string;
  readonly title: string;
  readonly name?: string;
  readonly kind: CallKind;
  readonly content: readonly CallContent[];
  readonly locations: readonly CallLocation[];
  readonly input?: Json;
  readonly output?: Json;
}

/** The call with what is new about it. */
export function withNews(known: KnownCall | undefined, news: CallFields): KnownCall {
  const name = news.name ?? news._meta?.toolName ?? known?.name;
  const input = news.rawInput ?? known?.input;
  const output = news.rawOutput ?? known?.output;
  return {
    callId: news.toolCallId,
    title: news.title ?? known?.title ?? "",
    kind: news.kind ?? known?.kind ?? "other",
    content: news.content ?? known?.content ?? [],
    locations: news.locations ?? known?.locations ?? [],
    ...(name ? { name } : {}),
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
  };
}

const reading: ReadonlySet<CallKind> = new Set(["read", "search", "think", "fetch"]);

/** A call of a kind that may change something is `write`. */
export function labelOf(call: KnownCall): Label {
  return reading.has(call.kind) ? "read" : "write";
}

export function nameOf(call: KnownCall): string {
  return cut((call.name ?? call.title).replace(/\s+/g, " ").trim() || call.kind, 100);
}

/** Its input as an object; its title where it has none. */
export function inputOf(call: KnownCall): JsonObject {
  const { input } = call;
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  if (input !== undefined && input !== null) return { input };
  return call.title === "" ? {} : { title: call.title };
}

/** What became of a call, for the transcript and for display. */
export function outcomeOf(call: KnownCall, hasFailed: boolean): Outcome {
  const blocks = call.content.flatMap(blocksOf);
  const content = blocks.length > 0 ? blocks : outputBlocks(call);
  return { content, isError: hasFailed, data: shownOf(call) };
}

/** What a running call has put out so far. */
export function outputSoFar(call: KnownCall): string {
  return call.content.map((it) => (it.type === "content" ? textOfBlock(it.content) : "")).join("");
}

function blocksOf(it: CallContent): OutcomeBlock[] {
  switch (it.type) {
    case "content": {
      const { type, data, mimeType } = it.content;
      if (type === "image" && data && mimeType) return [{ type: "image", mimeType, data }];
      const text = textOfBlock(it.content);
      return text === "" ? [] : [{ type: "text", text }];
    }
    case "diff":
      return [{ type: "text", text: `Changed ${it.path}.` }];
    case "terminal":
      return [];
  }
}

/** A block's text; of something that is no text, its name or place. */
export function textOfBlock(block: Block): string {
  return block.text ?? block.resource?.text ?? block.name ?? block.resource?.uri ?? block.uri ?? "";
}

function outputBlocks({ output }: KnownCall): OutcomeBlock[] {
  const text = textOfOutput(output);
  return text === "" ? [] : [{ type: "text", text }];
}

/** An output that is a text, that holds texts as many tools give them, or its JSON. */
function textOfOutput(output: Json | undefined): string {
  if (output === undefined || output === null) return "";
  if (typeof output === "string") return output;
  if (typeof output === "object" && !Array.isArray(output) && Array.isArray(output["content"])) {
    const texts = output["content"].flatMap((part) =>
      typeof part === "object" && part !== null && !Array.isArray(part) ? [part["text"]] : [],
    );
    if (texts.length > 0 && texts.every((text) => typeof text === "string")) return texts.join("");
  }
  return JSON.stringify(output);
}

function shownOf({ kind, title, locations, content }: KnownCall): JsonObject {
  const diffs = content.flatMap((it) =>
    it.type === "diff" ? [{ path: it.path, oldText: it.oldText ?? null, newText: it.newText }] : [],
  );
  return {
    kind,
    title,
    ...(locations.length > 0
      ? { locations: locations.map(({ path, line }) => ({ path, ...(line ? { line } : {}) })) }
      : {}),
    ...(diffs.length > 0 ? { diffs } : {}),
  };
}
