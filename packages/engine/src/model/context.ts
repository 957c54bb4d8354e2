// The model's context: what a provider is sent for a branch of the log. Pure; the log is never changed for it.
//
// Whatever a crash, a cancel or another engine left in the log, the answer is legal for every provider: it begins with
// the user, roles alternate, each call has exactly one result right behind its message, call ids are unique, and no
// signature reaches a model that did not make it. What is for display only never gets here.

import type {
  AssistantMessage,
  ImageContent,
  Message,
  TextContent,
  ToolCall,
  Usage,
} from "@earendil-works/pi-ai";
import type { TranscriptEntry } from "@lichen/runtime";
import {
  type BlobRef,
  type CallBlock,
  type EntryOf,
  imageTypeOf,
  type JsonObject,
  textOf,
} from "@lichen/wire";

/** The model that will read the context. */
export interface Reader {
  readonly provider: string;
  readonly api: string;
  readonly id: string;
}

type Assistant = EntryOf<"message.assistant">;
type Outcome = EntryOf<"message.tool">;
type UserBlock = TextContent | ImageContent;

/** @internal Exported for its tests. */
export const unansweredTurn = "(This turn ended without an answer.)";
/** @internal Exported for its tests. */
export const unknownEffect =
  "The call was interrupted: no outcome was recorded and its effect is unknown. Check before you repeat it.";
const earlierPart = "(The earlier part of this conversation is not shown.)";
const goOn = "(Go on.)";

/** The messages for `reader`, oldest first. `blob` finds the bytes of an image. */
export function contextOf(
  entries: readonly TranscriptEntry[],
  reader: Reader,
  blob: (sha256: string) => Uint8Array | undefined,
): Message[] {
  const outcomes = outcomesOf(entries);
  const ids = new Set<string>();
  const messages: Message[] = [];
  let said: UserBlock[] = [];
  let saidAt = 0;
  // A prompt stands open until an assistant message without calls answers it.
  let openTurn = false;

  const say = (at: number, ...blocks: UserBlock[]) => {
    if (said.length === 0) saidAt = at;
    said.push(...blocks);
  };
  const hear = () => {
    if (said.length === 0) return;
    messages.push({ role: "user", content: said, timestamp: saidAt });
    said = [];
  };
  const answer = (message: AssistantMessage) => {
    hear();
    const before = messages.at(-1)?.role;
    if (before === undefined || before === "assistant")
      messages.push({
        role: "user",
        content: [text(before ? goOn : earlierPart)],
        timestamp: message.timestamp,
      });
    messages.push(message);
  };

  for (const entry of entries) {
    const at = Date.parse(entry.at);
    switch (entry.kind) {
      case "compaction":
        say(at, text(summaryText(textOf(entry.data.summary))));
        break;
      case "line":
        say(at, text(textOf(entry.data.text) || "(An empty line.)"));
        break;
      case "message.user": {
        if (openTurn && entry.data.steers === undefined)
          answer(assistantOf([text(unansweredTurn)], reader, at));
        openTurn = true;
        say(at, ...userBlocks(entry, blob));
        break;
      }
      case "message.assistant": {
        const { content, calls } = assistantBlocks(entry, reader, ids);
        if (content.length === 0 && isCutOff(entry)) break;
        openTurn = calls.length > 0;
        answer(
          assistantOf(
            content.length > 0 ? content : [text(unansweredTurn)],
            { ...reader, ...makerOf(entry) },
            at,
            calls.length > 0,
          ),
        );
        for (const { call, index } of calls)
          messages.push(resultOf(call, outcomes.get(`${entry.id} ${index}`), at, blob));
        break;
      }
      case "message.tool":
        break;
    }
  }
  hear();
  return messages;
}

/** The calls of `entry` that have no outcome among `entries`. */
export function openCalls(entries: readonly TranscriptEntry[], entry: Assistant): CallBlock[] {
  if (isCutOff(entry)) return [];
  const outcomes = outcomesOf(entries);
  return entry.data.content.flatMap((block) =>
    block.type === "call" && !outcomes.has(`${entry.id} ${block.index}`) ? [block] : [],
  );
}

function summaryText(summary: string): string {
  return `What came before in this conversation was replaced by this summary:\n\n<summary>\n${summary}\n</summary>`;
}

function outcomesOf(entries: readonly TranscriptEntry[]): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const entry of entries) {
    if (entry.kind !== "message.tool") continue;
    const key = `${entry.data.assistant} ${entry.data.index}`;
    if (!outcomes.has(key)) outcomes.set(key, entry);
  }
  return outcomes;
}

/** Its stream broke or was stopped: its calls never ran, and what it thought is not to be relied on. */
function isCutOff(entry: Assistant): boolean {
  return entry.data.stop === "error" || entry.data.stop === "aborted";
}

function makerOf(entry: Assistant): Partial<Reader> {
  const { provider, api, model } = entry.data;
  return {
    provider: provider ?? "unknown",
    api: api ?? "unknown",
    id: model ?? "unknown",
  };
}

function assistantBlocks(entry: Assistant, reader: Reader, ids: Set<string>) {
  const { provider, api, model } = entry.data;
  const isOwn = provider === reader.provider && api === reader.api && model === reader.id;
  const content: AssistantMessage["content"] = [];
  const calls: { call: ToolCall; index: number }[] = [];
  for (const block of entry.data.content) {
    const signature =
      isOwn && !isCutOff(entry) && block.signature !== undefined
        ? textOf(block.signature)
        : undefined;
    switch (block.type) {
      case "text": {
        const said = textOf(block.text);
        if (said.trim() === "") break;
        content.push({
          ...text(said),
          ...(signature === undefined ? {} : { textSignature: signature }),
        });
        break;
      }
      case "thinking": {
        const thinking = textOf(block.text);
        if (!isOwn || isCutOff(entry) || (signature === undefined && thinking.trim() === "")) break;
        content.push({
          type: "thinking",
          thinking,
          ...(signature === undefined ? {} : { thinkingSignature: signature }),
          ...(block.redacted ? { redacted: true } : {}),
        });
        break;
      }
      case "call": {
        if (isCutOff(entry)) break;
        const call: ToolCall = {
          type: "toolCall",
          id: unique(block.callId, ids),
          name: block.name || "unnamed",
          arguments: argumentsOf(block.input),
          ...(signature === undefined ? {} : { thoughtSignature: signature }),
        };
        content.push(call);
        calls.push({ call, index: block.index });
        break;
      }
    }
  }
  return { content, calls };
}

/** A call's arguments, which providers want as an object. */
export function argumentsOf(input: unknown): JsonObject {
  return typeof input === "object" && input !== null && !Array.isArray(input)
    ? (input as JsonObject)
    : {};
}

/**
 * Some providers number the calls of each message from zero. A second part behind `|` is the provider's id of the item;
 * what must be unique on the wire is the first.
 */
function unique(callId: string, ids: Set<string>): string {
  const [given = "", ...item] = callId.split("|");
  const name = given || "call";
  let call = name;
  for (let n = 2; ids.has(call); n++) call = `${name}_${n}`;
  ids.add(call);
  return [call, ...item].join("|");
}

function resultOf(
  call: ToolCall,
  outcome: Outcome | undefined,
  at: number,
  blob: (sha256: string) => Uint8Array | undefined,
): Message {
  const blocks = (outcome?.data.content ?? []).map((block) =>
    block.type === "text" ? text(textOf(block.text)) : imageOf(block.image, blob),
  );
  const isSilent = blocks.every((block) => block.type === "text" && block.text === "");
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: outcome ? (isSilent ? [text("(no output)")] : blocks) : [text(unknownEffect)],
    isError: outcome?.data.isError ?? true,
    timestamp: outcome ? Date.parse(outcome.at) : at,
  };
}

function userBlocks(
  entry: EntryOf<"message.user">,
  blob: (sha256: string) => Uint8Array | undefined,
): UserBlock[] {
  const said = textOf(entry.data.text);
  const images = (entry.data.images ?? []).map((image) => imageOf(image, blob));
  if (said.trim() === "" && images.length > 0) return images;
  return [text(said.trim() === "" ? "(An empty message.)" : said), ...images];
}

function imageOf(
  image: BlobRef,
  blob: (sha256: string) => Uint8Array | undefined,
): TextContent | ImageContent {
  const bytes = blob(image.blob);
  if (!bytes) return text(`(An image of ${image.bytes} bytes that is no longer stored.)`);
  const mimeType = imageTypeOf(bytes);
  return mimeType
    ? { type: "image", mimeType, data: base64(bytes) }
    : text(`(${image.bytes} bytes were given as ${image.mimeType} and are of no image.)`);
}

function assistantOf(
  content: AssistantMessage["content"],
  maker: Reader,
  timestamp: number,
  calls = false,
): AssistantMessage {
  return {
    role: "assistant",
    content,
    provider: maker.provider,
    api: maker.api,
    model: maker.id,
    usage: noUsage(),
    stopReason: calls ? "toolUse" : "stop",
    timestamp,
  };
}

function text(value: string): TextContent {
  return { type: "text", text: value };
}

export function noUsage(): Usage {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

function base64(bytes: Uint8Array): string {
  const slice = 32_768;
  let binary = "";
  for (let start = 0; start < bytes.length; start += slice)
    binary += String.fromCharCode(...bytes.subarray(start, start + slice));
  return btoa(binary);
}
