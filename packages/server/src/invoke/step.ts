// What the entries of one run say to the caller of `invoke`, with every text whole: what the log put aside as a blob is
// fetched, so that no caller reads a placeholder where the text exists.

import {
  type BlobRef,
  describeBlob,
  type Entry,
  type Json,
  type JsonObject,
  known,
  type KnownEntry,
  type Terminal,
  type Text,
  type Usage,
} from "@lichen/wire";

export type Step =
  | {
      readonly type: "said";
      readonly entry: string;
      readonly thinking: string;
      readonly text: string;
      readonly calls: readonly { index: number; callId: string; name: string; input: Json }[];
    }
  | (CallKey & { readonly type: "began"; readonly input: JsonObject | undefined })
  | (CallKey & {
      readonly type: "ended";
      readonly isError: boolean;
      readonly content: Json[];
      readonly details: Json;
    })
  | {
      readonly type: "settled";
      readonly terminal: Terminal;
      readonly answer: string;
      readonly usage: Usage;
      readonly diagnostic: string | undefined;
      readonly retryable: boolean | undefined;
    };

interface CallKey {
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
}

/** Reads a blob of the session; undefined when it is not there. */
export type ReadBlob = (sha256: string) => Promise<{ bytes: Uint8Array } | undefined>;

/** The entry as a step; a promise only where blobs must be fetched, undefined where the caller has no use for it. */
export function stepOf(recorded: Entry, readBlob: ReadBlob): Step | Promise<Step> | undefined {
  const entry = known(recorded);
  if (!entry) return undefined;
  const refs = blobsIn(entry);
  if (refs.length === 0) return toStep(entry, new Map());
  return fetchAll(refs, readBlob).then((blobs) => toStep(entry, blobs)!);
}

type Blobs = ReadonlyMap<string, Uint8Array>;

async function fetchAll(refs: readonly BlobRef[], readBlob: ReadBlob): Promise<Blobs> {
  const blobs = new Map<string, Uint8Array>();
  for (const { blob } of refs) {
    const found = await readBlob(blob);
    if (found) blobs.set(blob, found.bytes);
  }
  return blobs;
}

/** The blobs that the entry's step needs. */
function blobsIn(entry: KnownEntry): BlobRef[] {
  const texts: (Text | BlobRef)[] = [];
  if (entry.kind === "message.assistant") {
    for (const block of entry.data.content) if (block.type !== "call") texts.push(block.text);
  } else if (entry.kind === "message.tool") {
    for (const block of entry.data.content)
      texts.push(block.type === "image" ? block.image : block.text);
  } else if (entry.kind === "run.settled") texts.push(entry.data.answer);
  return texts.filter((text) => typeof text !== "string");
}

function toStep(entry: KnownEntry, blobs: Blobs): Step | undefined {
  if (entry.kind === "message.assistant") {
    const { content } = entry.data;
    const joined = (type: "text" | "thinking") =>
      content.map((block) => (block.type === type ? whole(block.text, blobs) : "")).join("");
    return {
      type: "said",
      entry: entry.id,
      thinking: joined("thinking"),
      text: joined("text"),
      calls: content.filter((block) => block.type === "call"),
    };
  }
  if (entry.kind === "call.started") {
    const { assistant, index, callId, name, input } = entry.data;
    return { type: "began", assistant, index, callId, name, input };
  }
  if (entry.kind === "message.tool") {
    const { assistant, index, callId, name, isError, data } = entry.data;
    const content = entry.data.content.map((block) =>
      block.type === "image"
        ? wholeImage(block.image, blobs)
        : { type: "text", text: whole(block.text, blobs) },
    );
    return {
      type: "ended",
      assistant,
      index,
      callId,
      name,
      isError,
      content,
      details: data ?? null,
    };
  }
  if (entry.kind === "run.settled") {
    const { terminal, usage, diagnostic, retryable } = entry.data;
    return {
      type: "settled",
      terminal,
      answer: whole(entry.data.answer, blobs),
      usage,
      diagnostic,
      retryable,
    };
  }
  return undefined;
}

function whole(text: Text, blobs: Blobs): string {
  if (typeof text === "string") return text;
  const bytes = blobs.get(text.blob);
  return bytes ? new TextDecoder().decode(bytes) : describeBlob(text);
}

function wholeImage(image: BlobRef, blobs: Blobs): Json {
  const bytes = blobs.get(image.blob);
  return bytes
    ? { type: "image", mimeType: image.mimeType, data: base64(bytes) }
    : { type: "text", text: describeBlob(image) };
}

/** `btoa` takes one character per byte, and an argument list has its limit: 32 KiB at a time. */
function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 32_768)
    binary += String.fromCharCode(...bytes.subarray(start, start + 32_768));
  return btoa(binary);
}
