// The peers over HTTP, as a process of their own: bare Hono handlers that send given bytes.
//
//   POST /invoke    reads the body and streams the frames it was given
//   POST /durable   makes the durable writes it was given first, all requests that wait in one shared transaction
//   GET  /events    a stream; POST /publish encodes one event and writes it to every stream

import { open } from "node:fs/promises";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { BareSql } from "./bare-sql.ts";
import { answerParent } from "./child.ts";
import type { Statement } from "./sql-trace.ts";
import { type InvokeWrites, writesOf } from "./invoke-writes.ts";

const encoder = new TextEncoder();
const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
let frames: Uint8Array[] = [];
const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
let published = 0;

/** All requests that wait share one transaction and one sync. */
class SharedWriter {
  readonly #sql: BareSql;
  readonly #wal: { datasync(): Promise<void> };
  readonly #writes: InvokeWrites;
  #waiting: (() => void)[] = [];
  #isBusy = false;
  #count = 0;

  private constructor(sql: BareSql, wal: { datasync(): Promise<void> }, writes: InvokeWrites) {
    this.#sql = sql;
    this.#wal = wal;
    this.#writes = writes;
  }

  static async open(path: string, writes: InvokeWrites): Promise<SharedWriter> {
    const sql = new BareSql(path, "normal");
    sql.commit([]);
    return new SharedWriter(sql, await open(`${path}-wal`, "r"), writes);
  }

  durable(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isBusy) {
      this.#isBusy = true;
      setImmediate(() => void this.#flush());
    }
    return promise;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      const statements: Statement[] = [];
      for (let at = 0; at < waiting.length; at++)
        statements.push(...writesOf(this.#writes, ++this.#count));
      this.#sql.commit(statements);
      await this.#wal.datasync();
      for (const resolve of waiting) resolve();
    }
    this.#isBusy = false;
  }
}

let writer: SharedWriter | undefined;

function streamed(context: Context): Response {
  return streamSSE(context, async (stream) => {
    for (const frame of frames) await stream.write(frame);
  });
}

const app = new Hono();
app.post("/invoke", async (context) => {
  await context.req.json();
  return streamed(context);
});
app.post("/durable", async (context) => {
  await context.req.json();
  await writer?.durable();
  return streamed(context);
});
app.get("/events", () => {
  let own: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      own = controller;
      readers.add(own);
    },
    cancel: () => void readers.delete(own),
  });
  return new Response(body, { headers });
});
app.post("/publish", async (context) => {
  const { requestId, text } = await context.req.json<{ requestId: string; text: string }>();
  const seq = ++published;
  // As many bytes as an entry of Lichen has.
  const id = (of: number) => `ent_barehandler1_${of}`;
  const at = new Date().toISOString();
  const entry = {
    seq,
    id: id(seq),
    at,
    kind: "line",
    requestId,
    parent: id(seq - 1),
    data: { text },
  };
  const frame = encoder.encode(
    `event: entry\nid: barebare.${seq}\ndata: ${JSON.stringify(entry)}\n\n`,
  );
  for (const reader of readers) reader.enqueue(frame);
  return context.json({ status: "accepted" }, 202);
});

const listening = Promise.withResolvers<number>();
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => listening.resolve(port));

answerParent({
  port: () => listening.promise,
  frames: (texts: readonly string[]) => {
    frames = texts.map((text) => encoder.encode(text));
  },
  writes: async ({ path, writes }: { path: string; writes: InvokeWrites }) => {
    writer = await SharedWriter.open(path, writes);
  },
});
