// How one wire spells a streamed answer: what the server asks of each of the three encodings.
//
// An encoder belongs to one answer and returns the bytes of each moment as text; it does no I/O.

import type { RefusalKind, ScriptedCall, ScriptedUsage } from "./script.ts";

export type Wire = "anthropic" | "completions" | "responses";

export interface Encoder {
  start(): string;
  text(delta: string): string;
  thinking(delta: string, signature: string | undefined): string;
  call(call: ScriptedCall & { id: string }): string;
  /** The provider's error inside a stream. */
  breaks(kind: RefusalKind, message: string | undefined): string;
  end(stop: "stop" | "length" | "calls"): string;
}

export interface RefusalBody {
  readonly status: number;
  readonly body: string;
}

export interface Encoding {
  /** `answer` numbers the answers of one server; ids are made from it. */
  encoder(options: {
    answer: number;
    model: string;
    usage: ScriptedUsage;
    includeUsage: boolean;
  }): Encoder;
  refusal(kind: RefusalKind, message: string | undefined): RefusalBody;
}

/** One server-sent event. */
export function sse(data: object, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}
