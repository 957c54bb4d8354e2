// Entries of a transcript, written short.

import type { TranscriptEntry } from "@lichen/runtime";
import type { EntryData } from "@lichen/wire";

type Data = { [E in TranscriptEntry as E["kind"]]: E["data"] };
type Block = EntryData["message.assistant"]["content"][number];

/** Numbers entries from 1; `ent_<seq>` is an entry's id. */
export function logOf(
  ...given: { [K in keyof Data]: { kind: K; data: Data[K] } }[keyof Data][]
): TranscriptEntry[] {
  return given.map(
    (entry, at) =>
      ({
        ...entry,
        seq: at + 1,
        id: `ent_${at + 1}`,
        at: new Date(1_700_000_000_000 + at).toISOString(),
      }) as TranscriptEntry,
  );
}

export function user(text: string, more: Partial<EntryData["message.user"]> = {}) {
  return { kind: "message.user" as const, data: { text, ...more } };
}

export function line(text: string) {
  return { kind: "line" as const, data: { text } };
}

export function assistant(
  content: (string | Block)[],
  more: Partial<EntryData["message.assistant"]> = {},
) {
  const blocks = content.map((it): Block =>
    typeof it === "string" ? { type: "text", text: it } : it,
  );
  const stop = blocks.some((it) => it.type === "call") ? ("calls" as const) : ("stop" as const);
  return { kind: "message.assistant" as const, data: { content: blocks, stop, ...more } };
}

export function call(
  index: number,
  callId = `c${index}`,
  input: Record<string, string> = {},
): Block {
  return { type: "call", index, callId, name: "tool", input };
}

export function outcome(assistantSeq: number, index: number, text: string) {
  return {
    kind: "message.tool" as const,
    data: {
      assistant: `ent_${assistantSeq}`,
      index,
      callId: "any",
      name: "tool",
      content: text === "" ? [] : [{ type: "text" as const, text }],
      isError: false,
      data: "for display only",
    },
  };
}

export function compaction(summary: string) {
  return { kind: "compaction" as const, data: { summary, tokensBefore: 1, automatic: true } };
}
