// What is sent to the agent as one prompt: the messages that wait, and the operator's lines before them.

import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Run, TranscriptEntry } from "@lichen/runtime";
import { type BlobRef, type EntryOf, textOf } from "@lichen/wire";

type Message = EntryOf<"message.user">;

export interface PromptParts {
  /** Names of the messages that are sent. */
  readonly messages: readonly string[];
  readonly blocks: readonly ContentBlock[];
  readonly hasImages: boolean;
}

/** The prompt of these messages of a run. `base64` of an image's bytes. */
export function promptOf(
  run: Pick<Run, "blob" | "transcript">,
  messages: readonly Message[],
): PromptParts {
  const transcript = run.transcript();
  const blocks: ContentBlock[] = [];
  let words: string[] = [];
  const endText = (): void => {
    if (words.length > 0) blocks.push({ type: "text", text: words.join("\n\n") });
    words = [];
  };
  for (const message of messages) {
    const { text, images = [] } = message.data;
    const lines = linesBefore(transcript, message).map((line) => textOf(line.data.text));
    words.push(...[...lines, textOf(text)].filter((it) => it !== ""));
    if (images.length > 0) endText();
    for (const image of images) blocks.push(imageBlock(run, image));
  }
  endText();
  const hasImages = messages.some(({ data }) => (data.images ?? []).length > 0);
  return { messages: messages.map((it) => it.id), blocks, hasImages };
}

/** Lines that were recorded since the agent last spoke or was spoken to. */
function linesBefore(
  transcript: readonly TranscriptEntry[],
  message: Message,
): readonly EntryOf<"line">[] {
  const at = transcript.findIndex((entry) => entry.id === message.id);
  const lines: EntryOf<"line">[] = [];
  for (let before = at - 1; before >= 0; before--) {
    const entry = transcript[before];
    if (entry?.kind !== "line") break;
    lines.unshift(entry);
  }
  return lines;
}

function imageBlock(run: Pick<Run, "blob">, { blob, mimeType }: BlobRef): ContentBlock {
  const bytes = run.blob(blob);
  if (!bytes) return { type: "text", text: "(An image that is no longer stored.)" };
  return { type: "image", mimeType, data: base64(bytes) };
}

function base64(bytes: Uint8Array): string {
  const part = 0x8000;
  let binary = "";
  for (let at = 0; at < bytes.length; at += part)
    binary += String.fromCharCode(...bytes.subarray(at, at + part));
  return btoa(binary);
}
