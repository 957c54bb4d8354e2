// A session written entry by entry, as a host would tell it, and what the screen shows of it.

import { stripTerminalSequences } from "@earendil-works/pi-tui";
import { type View, viewOf } from "@lichen/client";
import {
  type AssistantBlock,
  type Baseline,
  type Entry,
  type EntryData,
  type Json,
  type Kind,
  noUsage,
  type Partial,
  parseEntry,
} from "@lichen/wire";
import { Transcript } from "../src/chat/show/transcript.ts";
import { themeOf } from "../src/chat/show/theme.ts";

export const picture = { blob: "a".repeat(64), mimeType: "image/png", bytes: 34_000 };

export const emptyBaseline: Baseline = {
  epoch: "e",
  head: 0,
  session: {
    session: "s",
    agent: "a",
    epoch: "e",
    state: "idle",
    head: 0,
    pending: 0,
    approvals: 0,
    turns: 0,
    usage: noUsage,
    createdAt: "2026-01-01T00:00:00.000Z",
    lastAt: "2026-01-01T00:00:00.000Z",
  },
  entries: [],
  more: false,
  pending: [],
  approvals: [],
  attention: [],
  projections: {},
};

const inTree = /^(message\.|line$|compaction$)/;

export class Story {
  readonly entries: Entry[] = [];
  #leaf: string | undefined;
  /** Milliseconds between the entries. */
  pace = 1_000;
  #at = Date.UTC(2026, 0, 1);

  add<K extends Kind>(kind: K, data: EntryData[K], frame: { by?: string } = {}): Entry {
    return this.addUnknown(kind, data, frame);
  }

  addUnknown(kind: string, data: object, frame: { by?: string } = {}): Entry {
    this.#at += this.pace;
    const entry = parseEntry({
      seq: this.entries.length + 1,
      id: `e${this.entries.length + 1}`,
      at: new Date(this.#at).toISOString(),
      kind,
      commandId: "c1",
      data,
      ...frame,
      ...(this.#leaf === undefined || !inTree.test(kind) ? {} : { parent: this.#leaf }),
    });
    if (inTree.test(kind)) this.#leaf = entry.id;
    this.entries.push(entry);
    return entry;
  }

  says(text: string, by?: string): Entry {
    return this.add("message.user", { text }, by === undefined ? {} : { by });
  }

  begins(): void {
    this.add("command.queued", { type: "prompt", text: "go" });
    this.add("run.started", { type: "prompt", engine: "model" });
  }

  answers(...content: (string | AssistantBlock)[]): Entry {
    return this.add("message.assistant", {
      content: content.map((block) =>
        typeof block === "string" ? { type: "text", text: block } : block,
      ),
      stop: content.some((block) => typeof block !== "string" && block.type === "call")
        ? "calls"
        : "stop",
    });
  }

  starts(assistant: Entry, index: number, name: string): void {
    this.add("call.started", {
      assistant: assistant.id,
      index,
      callId: `k${index}`,
      name,
      label: "write",
      replaySafe: false,
      digest: "d",
    });
  }

  ends(
    assistant: Entry,
    index: number,
    name: string,
    text: string,
    more: { isError?: boolean; data?: Json; interrupted?: true } = {},
  ): void {
    this.add("message.tool", {
      assistant: assistant.id,
      index,
      callId: `k${index}`,
      name,
      content: [{ type: "text", text }],
      isError: false,
      ...more,
    });
  }

  view(baseline: Baseline = emptyBaseline): View {
    return viewOf(baseline, this.entries);
  }
}

export function callOf(index: number, name: string, input: Json): AssistantBlock {
  return { type: "call", index, callId: `k${index}`, name, input };
}

export function streaming(view: View, partial: Omit<Partial, "commandId">): View {
  return {
    ...view,
    running: { commandId: "c1", startedAt: "", partial: { commandId: "c1", ...partial } },
  };
}

/** What stands on a screen without colours, line by line, without spaces at the ends. */
export function shownOf(view: View, width = 80, isUnfolded = false): string[] {
  const transcript = new Transcript(themeOf("dark", "none"));
  transcript.isUnfolded = isUnfolded;
  transcript.show(view);
  return bare(transcript.render(width));
}

export function bare(lines: readonly string[]): string[] {
  return lines.map((line) => stripTerminalSequences(line).trimEnd());
}

export function numbered(count: number, word = "out"): string {
  return Array.from({ length: count }, (_, at) => `${word} ${at + 1}`).join("\n");
}
