// A session of a running host, by the same contract as one in this process.

import { setTimeout as wait } from "node:timers/promises";
import type { Frame, Session } from "@lichen/runtime";
import {
  Baseline,
  type Command,
  parseEntry,
  Partial,
  Receipt,
  SessionInfo,
  Settlement,
} from "@lichen/wire";
import { createParser } from "eventsource-parser";
import type { HostLink } from "./host-link.ts";

/** What asking an agent needs of a session, wherever the session is. */
export type Conversation = Pick<
  Session,
  "id" | "send" | "watch" | "read" | "readSettlement" | "change"
>;

/** Longer than two pings of a host that lives. */
const silenceMs = 45_000;
/** Between two connections of which the first brought nothing. */
const pauseMs = 500;

export class RemoteSession implements Conversation {
  readonly id: string;
  readonly #link: HostLink;
  readonly #path: string;

  constructor(link: HostLink, agent: string, id: string) {
    this.id = id;
    this.#link = link;
    this.#path = `/agents/${encodeURIComponent(agent)}/sessions/${encodeURIComponent(id)}`;
  }

  async send(command: Command): Promise<Receipt> {
    const request = { method: "POST", body: command } as const;
    const response = await this.#link.request(`${this.#path}/commands`, request);
    return Receipt.parse(await response.json());
  }

  async change(changes: Parameters<Session["change"]>[0]): Promise<SessionInfo> {
    const response = await this.#link.request(this.#path, { method: "PATCH", body: changes });
    return SessionInfo.parse(await response.json());
  }

  async read(options: { limit?: number; before?: number } = {}): Promise<Baseline> {
    const query = new URLSearchParams(
      Object.entries(options).map(([name, value]) => [name, String(value)]),
    );
    const response = await this.#link.request(`${this.#path}?${query.toString()}`);
    return Baseline.parse(await response.json());
  }

  async readSettlement(
    commandId: string,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<Settlement | undefined> {
    const query = new URLSearchParams({ commandId, timeoutMs: String(options.timeoutMs ?? 0) });
    const response = await this.#link.request(`${this.#path}/settlement?${query.toString()}`, {
      signal: options.signal,
    });
    return Settlement.nullable().parse(await response.json()) ?? undefined;
  }

  /** Goes on after every break where it stood, until the host says that the session has ended. */
  async *watch(options: { after?: string; signal?: AbortSignal } = {}): AsyncGenerator<Frame> {
    let after = options.after;
    for (;;) {
      const ears = new AbortController();
      let isEmpty = true;
      const signals = [ears.signal, ...(options.signal ? [options.signal] : [])];
      const response = await this.#link.request(`${this.#path}/events`, {
        signal: AbortSignal.any(signals),
        headers: {
          accept: "text/event-stream",
          ...(after === undefined ? {} : { "last-event-id": after }),
        },
      });
      try {
        for await (const frame of framesOf(response, ears)) {
          if ("id" in frame) after = frame.id;
          isEmpty = false;
          yield frame;
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!isBreak(error)) throw error;
      } finally {
        ears.abort();
      }
      if (isEmpty) await wait(pauseMs, undefined, options.signal ? { signal: options.signal } : {});
    }
  }
}

async function* framesOf(response: Response, ears: AbortController): AsyncGenerator<Frame> {
  const ready: Frame[] = [];
  const parser = createParser({
    onEvent({ event, id, data }) {
      const frame = frameOf(event, id, data);
      if (frame !== undefined) ready.push(frame);
    },
  });
  const decoder = new TextDecoder();
  let watchdog = setTimeout(() => ears.abort(), silenceMs);
  try {
    for await (const bytes of response.body ?? []) {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => ears.abort(), silenceMs);
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* ready.splice(0);
    }
  } finally {
    clearTimeout(watchdog);
  }
}

/** Undefined for what a reader can do without: hints, and types that only a newer host knows. */
function frameOf(
  type: string | undefined,
  id: string | undefined,
  data: string,
): Frame | undefined {
  if (type === "partial") return { type, data: Partial.parse(JSON.parse(data)) };
  if (id === undefined) return undefined;
  if (type === "entry") return { type, id, data: parseEntry(JSON.parse(data)) };
  if (type === "baseline" || type === "reset") {
    return { type, id, data: Baseline.parse(JSON.parse(data)) };
  }
  return undefined;
}

/** The connection ended under the reader: by the network, the host's death, or the watchdog. */
function isBreak(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error instanceof TypeError);
}
