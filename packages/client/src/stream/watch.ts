// A watch: one stream of frames over as many connections as it takes.
//
//   N9   Every frame is told once and in order, wherever connections break.
//   N10  An outage is told once when it begins and once when it ends.
//   N11  Connections are tried again after a delay that doubles from half a second to thirty, with jitter.
//   N13  It ends with its session, its signal, its reader's leaving, or a refusal that no retry can change.

import { Fault } from "@lichen/wire";
import type { Back, Outage } from "../api.ts";
import type { Line } from "../http/line.ts";
import { lost, noHost } from "../http/refusal.ts";
import { backoffMs } from "../platform.ts";
import { messagesOf, type Message } from "./connection.ts";

/** What a stream's messages mean to one watch, across connections. */
export interface Reader<F> {
  /** Where the next connection begins; undefined for a fresh baseline. */
  readonly cursor: string | undefined;
  /** Whether anything was told yet. */
  readonly hasBegun: boolean;
  /** A frame to tell; undefined for one that was told before or that this version does not know. Throws where the stream makes no sense. */
  read(message: Message): F | undefined;
}

export interface Source<F> {
  readonly path: string;
  readonly reader: Reader<F>;
}

export class Watch<F> implements AsyncIterable<F | Outage | Back> {
  readonly #line: Line;
  readonly #source: () => Source<F>;
  readonly #signal: AbortSignal | undefined;

  constructor(line: Line, source: () => Source<F>, signal: AbortSignal | undefined) {
    this.#line = line;
    this.#source = source;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): AsyncIterator<F | Outage | Back, void, undefined> {
    const left = new AbortController();
    const leave = (): void => left.abort();
    this.#signal?.addEventListener("abort", leave, { once: true });
    if (this.#signal?.aborted) leave();
    const frames = follow(this.#line, this.#source(), left.signal);
    return {
      next: async () => {
        const step = await frames.next();
        if (step.done) this.#signal?.removeEventListener("abort", leave);
        return step;
      },
      // A frame that is being waited for is not waited for any more.
      return: () => {
        leave();
        this.#signal?.removeEventListener("abort", leave);
        return frames.return();
      },
    };
  }
}

async function* follow<F>(
  line: Line,
  { path, reader }: Source<F>,
  signal: AbortSignal,
): AsyncGenerator<F | Outage | Back, void, undefined> {
  const { platform } = line;
  let failures = 0;
  let outageSince: number | undefined;
  while (!signal.aborted) {
    const ears = new AbortController();
    const leave = (): void => ears.abort();
    signal.addEventListener("abort", leave);
    let reason: Fault;
    try {
      const { cursor } = reader;
      const headers = {
        accept: "text/event-stream",
        ...(cursor === undefined ? {} : { "last-event-id": cursor }),
      };
      const response = await line.open(path, { headers }, ears);
      if (!/^text\/event-stream\b/.test(response.headers.get("content-type") ?? ""))
        throw noHost(new Error("the answer is no event stream"));
      if (outageSince !== undefined) {
        const data = { since: outageSince, at: platform.now() };
        outageSince = undefined;
        yield { type: "back", data };
      }
      for await (const message of messagesOf(response, ears, platform)) {
        failures = 0;
        if (message.type === ":" && message.data.trim() === "deleted") return;
        const frame = reader.read(message);
        if (frame !== undefined) yield frame;
        if (signal.aborted) return;
      }
      reason = lost(new Error("the stream ended"));
    } catch (error) {
      if (signal.aborted) return;
      if (isGone(error) && reader.hasBegun) return;
      if (Fault.is(error) && !isPassing(error)) throw error;
      reason = Fault.is(error) ? error : lost(error);
    } finally {
      signal.removeEventListener("abort", leave);
      ears.abort();
    }
    if (signal.aborted) return;
    if (outageSince === undefined) {
      outageSince = platform.now();
      yield { type: "outage", data: { since: outageSince, reason } };
    }
    await line.nap(backoffMs(platform, failures++), signal);
  }
}

/** The session was deleted while nobody listened. */
function isGone(error: unknown): boolean {
  return Fault.is(error) && error.code === "unknown_session";
}

/** Whether the same may be answered otherwise later: what concerns the host and not what was asked. */
function isPassing(fault: Fault): boolean {
  return fault.retryable || fault.code === "internal";
}
