// The message that the agent is saying: its texts and thoughts, gathered from their pieces until something else follows,
// and the lines of calls that it told of in between.

import type { Draft, Run } from "@lichen/runtime";
import type { AssistantBlock, EntryData, Json } from "@lichen/wire";
import { textOfBlock } from "./call-text.ts";
import type { ChunkUpdate } from "./wire.ts";

interface Spoken {
  readonly type: "text" | "thinking";
  text: string;
}

type Piece = Spoken | { readonly type: "line"; readonly line: Json };

export class Message {
  readonly #sessionId: () => string;
  #pieces: Piece[] = [];
  #messageId: string | undefined;

  constructor(sessionId: () => string) {
    this.#sessionId = sessionId;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Whether a piece belongs to another message than the pieces so far. */
  isOther({ messageId }: ChunkUpdate): boolean {
    return !!messageId && this.#messageId !== undefined && this.#messageId !== messageId;
  }

  add(update: ChunkUpdate): void {
    const text = textOfBlock(update.content);
    if (text === "") return;
    const type = update.sessionUpdate === "agent_thought_chunk" ? "thinking" : "text";
    this.#messageId = update.messageId ?? this.#messageId;
    const last = this.#pieces.at(-1);
    if (last?.type === type) last.text += text;
    else this.#pieces.push({ type, text });
  }

  /** A line that came after what was said so far: it stands there in the log. */
  hold(line: Json): void {
    this.#pieces.push({ type: "line", line });
  }

  /** What streams now. */
  partial(): Parameters<Run["partial"]>[0] {
    const of = (type: Spoken["type"]): string =>
      this.#spoken.map((it) => (it.type === type ? it.text : "")).join("");
    const text = of("text");
    const thinking = of("thinking");
    return { ...(text ? { text } : {}), ...(thinking ? { thinking } : {}) };
  }

  /** Ends the message: its lines, each whole, and the blocks of its entry. */
  take(): { readonly lines: Draft[]; readonly content: AssistantBlock[] } {
    const lines = this.#pieces.map((it) =>
      lineOf(it.type === "line" ? it.line : this.#wholeLine(it.type, it.text)),
    );
    const content = this.#spoken.map(({ type, text }) => ({ type, text }));
    this.#pieces = [];
    this.#messageId = undefined;
    return { lines, content };
  }

  get #spoken(): Spoken[] {
    return this.#pieces.filter((it) => it.type !== "line");
  }

  #wholeLine(type: Spoken["type"], text: string): Json {
    const sessionUpdate = type === "thinking" ? "agent_thought_chunk" : "agent_message_chunk";
    return {
      jsonrpc: "2.0",
      method: "session/update",
      params: {
        sessionId: this.#sessionId(),
        update: { sessionUpdate, content: { type: "text", text } },
      },
    };
  }
}

/** A line of the agent's, for the log. */
export function lineOf(line: Json): Extract<Draft, { kind: "harness.line" }> {
  return { kind: "harness.line", data: { harness: "acp", line } };
}

export type AssistantStop = EntryData["message.assistant"]["stop"];
