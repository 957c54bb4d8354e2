// A host that a test plays by hand: every request waits for its answer, and streams are written to byte by byte.

import { noUsage, type Baseline, type Entry } from "@lichen/wire";
import type { Fetch } from "../src/index.ts";

export interface Asked {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
  answer(body: unknown, status?: number): void;
  respond(response: Response): void;
  fail(error: unknown): void;
  /** Answers with an event stream, and gives what writes to it. */
  stream(): OpenStream;
}

export interface OpenStream {
  write(text: string): void;
  frame(event: string, data: unknown, id?: string): void;
  end(): void;
  break(): void;
  /** Whether the reader has left. */
  readonly isLeft: boolean;
}

export class HandHost {
  readonly asked: Asked[] = [];
  #next = 0;
  #came = Promise.withResolvers<void>();

  readonly fetch: Fetch = (url, init) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
    this.asked.push({
      url,
      init,
      headers: new Headers(init.headers),
      respond: resolve,
      fail: reject,
      answer: (body, status = 200) =>
        resolve(new Response(JSON.stringify(body), { status, headers: json })),
      stream: () => {
        const { response, stream } = openBody();
        resolve(response);
        return stream;
      },
    });
    this.#came.resolve();
    this.#came = Promise.withResolvers();
    return promise;
  };

  /** The next request that no test has seen yet. */
  async next(): Promise<Asked> {
    while (this.asked.length <= this.#next) await this.#came.promise;
    return this.asked[this.#next++]!;
  }
}

const json = { "content-type": "application/json" };

function openBody(): { response: Response; stream: OpenStream } {
  const encoder = new TextEncoder();
  let isLeft = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      isLeft = true;
    },
  });
  const write = (text: string): void => controller?.enqueue(encoder.encode(text));
  return {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    stream: {
      write,
      frame: (event, data, id) =>
        write(
          `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`,
        ),
      end: () => controller?.close(),
      break: () => controller?.error(new TypeError("the network is gone")),
      get isLeft() {
        return isLeft;
      },
    },
  };
}

export function baselineAt(head: number, epoch = "e1"): Baseline {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    epoch,
    head,
    session: {
      session: "s",
      agent: "a",
      epoch,
      state: "idle",
      head,
      pending: 0,
      approvals: 0,
      turns: 0,
      usage: noUsage,
      createdAt: at,
      lastAt: at,
    },
    entries: [],
    more: head > 0,
    pending: [],
    approvals: [],
    attention: [],
    projections: {},
  };
}

export function lineAt(seq: number, extra: Partial<Entry> = {}): Entry {
  return {
    seq,
    id: `ent_${seq}`,
    at: "2026-01-01T00:00:00.000Z",
    kind: "line",
    data: { text: `line ${seq}` },
    ...(seq > 1 ? { parent: `ent_${seq - 1}` } : {}),
    ...extra,
  };
}
