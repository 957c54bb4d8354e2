// A provider's finished message in the log's shape, and the usage it reports.

import type { AssistantMessage, Usage as ProviderUsage } from "@earendil-works/pi-ai";
import type { AssistantBlock, EntryData, Json, Usage } from "@lichen/wire";

type AssistantData = EntryData["message.assistant"];

/** The entry of a finished message; calls are numbered from 0 in its order. */
export function assistantData(message: AssistantMessage): AssistantData {
  return {
    ...madeBy(message),
    content: blocksOf(message),
    stop: stopOf(message),
  };
}

/** The entry of a message that broke off: only what a reader saw of its text. */
export function cutOffData(message: AssistantMessage, error?: string): AssistantData {
  return {
    ...madeBy(message),
    content: blocksOf(message).filter((block) => block.type === "text"),
    stop: message.stopReason === "aborted" ? "aborted" : "error",
    ...(error === undefined ? {} : { error }),
  };
}

export function usageOf(usage: ProviderUsage): Usage {
  return {
    input: usage.input,
    output: usage.output,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
    ...(usage.cost.total > 0 ? { cost: usage.cost.total } : {}),
  };
}

export function textOfMessage(message: AssistantMessage): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function madeBy(message: AssistantMessage) {
  return {
    provider: message.provider,
    api: message.api,
    model: message.model,
    usage: usageOf(message.usage),
  };
}

function blocksOf(message: AssistantMessage): AssistantBlock[] {
  let index = 0;
  return message.content.map((block): AssistantBlock => {
    switch (block.type) {
      case "text":
        return { type: "text", text: block.text, ...signed(block.textSignature) };
      case "thinking":
        return {
          type: "thinking",
          text: block.thinking,
          ...signed(block.thinkingSignature),
          ...(block.redacted ? { redacted: true } : {}),
        };
      case "toolCall":
        return {
          type: "call",
          index: index++,
          callId: block.id,
          name: block.name,
          input: jsonOf(block.arguments),
          ...signed(block.thoughtSignature),
        };
    }
  });
}

function signed(signature: string | undefined): { signature?: string } {
  return signature ? { signature } : {};
}

function stopOf(message: AssistantMessage): AssistantData["stop"] {
  switch (message.stopReason) {
    case "toolUse":
      return "calls";
    case "length":
      return "length";
    case "error":
    case "aborted":
      return message.stopReason;
    case "stop":
    case "pending":
    case "deferred":
      return message.content.some((block) => block.type === "toolCall") ? "calls" : "stop";
  }
}

/** Arguments came from JSON; a copy drops what JSON cannot hold. */
function jsonOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? {})) as Json;
}
