// pi's messages in the log's shape.

import type { Call, Outcome, OutcomeBlock } from "@lichen/runtime";
import type { AssistantBlock, EntryData, JsonObject, Label, Usage } from "@lichen/wire";
import { isObject, numberAt, objectAt, textAt, textOf } from "./codec.ts";

type AssistantData = EntryData["message.assistant"];

/** Tools of pi that change nothing. */
const reads: ReadonlySet<string> = new Set(["read", "grep", "find", "ls"]);

/** A call as an assistant message makes it, without the entry that it belongs to. */
export type MadeCall = Omit<Call, "assistant">;

export interface Said {
  /** Nothing to keep: a message that broke off before its first word. */
  readonly data?: AssistantData;
  readonly calls: readonly MadeCall[];
  readonly usage: Usage;
  /** pi's own word for how it ended. */
  readonly stop: string;
  readonly error?: string;
}

/** An assistant message. One that broke off keeps its text only: its calls were never made. */
export function assistantOf(message: JsonObject): Said {
  const stop = textAt(message, "stopReason");
  const isBroken = stop === "error" || stop === "aborted";
  const usage = usageOf(objectAt(message, "usage"));
  const error = textAt(message, "errorMessage");
  const content = blocksOf(message, isBroken);
  const common = { usage, stop, ...(error === "" ? {} : { error }) };
  if (isBroken && textOf(message["content"]).trim() === "") return { ...common, calls: [] };
  const [provider, api, model] = ["provider", "api", "model"].map((name) => textAt(message, name));
  const data: AssistantData = {
    content,
    stop: stopOf(stop),
    usage,
    ...(provider ? { provider } : {}),
    ...(api ? { api } : {}),
    ...(model ? { model } : {}),
    ...(isBroken && error !== "" ? { error } : {}),
  };
  return { ...common, data, calls: content.flatMap(callOf) };
}

function stopOf(stop: string): AssistantData["stop"] {
  switch (stop) {
    case "length":
    case "error":
    case "aborted":
      return stop;
    case "toolUse":
      return "calls";
    default:
      return "stop";
  }
}

function blocksOf(message: JsonObject, isBroken: boolean): AssistantBlock[] {
  const { content } = message;
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  let index = 0;
  return content.flatMap((block): AssistantBlock[] => {
    if (!isObject(block)) return [];
    switch (textAt(block, "type")) {
      case "text":
        return [{ type: "text", text: textAt(block, "text") }];
      case "thinking":
        return isBroken ? [] : [thinkingOf(block)];
      case "toolCall":
        return isBroken ? [] : [callBlock(block, index++)];
      default:
        return [];
    }
  });
}

function thinkingOf(block: JsonObject): AssistantBlock {
  const isRedacted = block["redacted"] === true;
  return {
    type: "thinking",
    text: textAt(block, "thinking"),
    ...(isRedacted ? { redacted: true } : {}),
  };
}

function callBlock(block: JsonObject, index: number): AssistantBlock {
  return {
    type: "call",
    index,
    callId: textAt(block, "id"),
    name: textAt(block, "name"),
    input: objectAt(block, "arguments"),
  };
}

function callOf(block: AssistantBlock): MadeCall[] {
  if (block.type !== "call") return [];
  const { index, callId, name, input } = block;
  const label: Label = reads.has(name) ? "read" : "write";
  return [
    {
      index,
      callId,
      name,
      input: isObject(input) ? input : {},
      label,
      replaySafe: label === "read",
    },
  ];
}

/** A tool result. `details` is for display. */
export function outcomeOf(message: JsonObject): Outcome {
  const { content, details } = message;
  const blocks = Array.isArray(content) ? content : [];
  return {
    content: blocks.flatMap((block): OutcomeBlock[] => {
      if (!isObject(block)) return [];
      if (block["type"] === "text") return [{ type: "text", text: textAt(block, "text") }];
      if (block["type"] !== "image") return [];
      return [{ type: "image", mimeType: textAt(block, "mimeType"), data: textAt(block, "data") }];
    }),
    isError: message["isError"] === true,
    ...(details === undefined || details === null ? {} : { data: details }),
  };
}

/** Tokens and the price of one message. */
function usageOf(usage: JsonObject): Usage {
  const cost = numberAt(objectAt(usage, "cost"), "total");
  return {
    input: numberAt(usage, "input"),
    output: numberAt(usage, "output"),
    cacheRead: numberAt(usage, "cacheRead"),
    cacheWrite: numberAt(usage, "cacheWrite"),
    ...(cost > 0 ? { cost } : {}),
  };
}

/** A compaction's entry, from what pi says of it. */
export function compactionOf(result: JsonObject, automatic: boolean): EntryData["compaction"] {
  const { usage } = result;
  return {
    summary: textAt(result, "summary"),
    tokensBefore: numberAt(result, "tokensBefore"),
    automatic,
    ...(isObject(usage) ? { usage: usageOf(usage) } : {}),
  };
}
