import type { Sink } from "@lichen/runtime";
import { connect } from "node:net";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { answerThrown } from "../../src/door/answer.ts";
import { Streams } from "../../src/door/streams.ts";
import { serveHost } from "../../src/host/serve.ts";
import { HandClock, openStream } from "./rig.ts";

interface TestFrame {
  readonly type: "entry";
  readonly id: string;
  readonly data: unknown;
}

/** A server whose one stream is fed by the test. */
async function openFeed() {
  const clock = new HandClock();
  const streams = new Streams(clock.after);
  const readers: { sink: Sink<TestFrame>; resumed: number; isClosed: boolean }[] = [];
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  const app = new Hono();
  app.onError((error) => answerThrown(error, new Request("http://x/feed"), () => {}));
  app.get("/feed", () =>
    streams.watch<TestFrame>((sink) => {
      const reader = { sink, resumed: 0, isClosed: false };
      readers.push(reader);
      tell();
      return {
        resume: () => {
          reader.resumed++;
          tell();
        },
        close: () => {
          reader.isClosed = true;
          tell();
        },
      };
    }),
  );
  const served = await serveHost({ fetch: app.fetch, port: 0 });
  return {
    clock,
    streams,
    readers,
    port: served.port,
    open: () => openStream(served.port, "/feed"),
    until: async (isSo: () => boolean) => {
      while (!isSo()) await changed.promise;
    },
    [Symbol.asyncDispose]: () => served.close({ graceMs: 0 }),
  };
}

const frame = (seq: number, data: unknown = { seq }): TestFrame => ({
  type: "entry",
  id: `e1.${seq}`,
  data,
});

describe("event streams", () => {
  test("[H13] a stream is told apart as events and kept from every buffer on its way", async () => {
    await using feed = await openFeed();
    await using reader = await feed.open();
    expect(reader.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    feed.readers[0]!.sink.frame(frame(1, { text: "a\nb\r\u2028" }));
    expect(await reader.until("\n\n")).toBe(
      `event: entry\nid: e1.1\ndata: ${JSON.stringify({ text: "a\nb\r\u2028" })}\n\n`,
    );
  });

  test("[H15] a frame is encoded once, however many readers it has", async () => {
    await using feed = await openFeed();
    const open = await Promise.all(Array.from({ length: 20 }, () => feed.open()));
    let encodings = 0;
    const shared = frame(1, {
      toJSON: () => {
        encodings++;
        return { seq: 1 };
      },
    });
    for (const { sink } of feed.readers) sink.frame(shared);
    for (const reader of open) {
      expect(await reader.until("\n\n")).toContain('data: {"seq":1}');
      await reader[Symbol.asyncDispose]();
    }
    expect(encodings).toBe(1);
  });

  test("[H16] a quiet stream carries a ping every 20 seconds, and none when nobody reads", async () => {
    await using feed = await openFeed();
    await using reader = await feed.open();
    for (let beat = 1; beat <= 3; beat++) {
      feed.clock.advance(19_999);
      feed.readers[0]!.sink.frame(frame(beat));
      expect(await reader.until("\n\n")).toContain(`id: e1.${beat}`);
      feed.clock.advance(1);
      expect(await reader.until("\n\n")).toBe(": ping\n\n");
    }
    await reader[Symbol.asyncDispose]();
    await feed.until(() => feed.readers[0]!.isClosed);
    feed.clock.advance(20_000);
    expect(feed.clock.waiting).toBe(0);
    await using later = await feed.open();
    feed.clock.advance(20_000);
    expect(await later.until("\n\n")).toBe(": ping\n\n");
  });

  test("[H15] a reader that stops reading makes its source wait, costs bounded memory and holds up no other", async () => {
    await using feed = await openFeed();
    await using quick = await feed.open();
    const slow = connect(feed.port, "127.0.0.1", () =>
      slow.write(`GET /feed HTTP/1.1\r\nhost: x:${feed.port}\r\n\r\n`),
    );
    slow.pause();
    await feed.until(() => feed.readers.length === 2);
    const [one, two] = feed.readers;
    const text = "x".repeat(65_536);
    let taken = 0;
    while (two!.sink.frame(frame(++taken, text))) {
      expect(taken, "a reader that reads nothing is given no end of frames").toBeLessThan(1_000);
      // Whatever the socket takes, it takes now.
      await new Promise(setImmediate);
    }
    const held = taken * 65_536;
    expect(held).toBeLessThan(16 * 1_048_576);
    one!.sink.frame(frame(1));
    expect(await quick.until("\n\n")).toContain("id: e1.1");
    expect(two!.resumed).toBe(0);
    slow.resume();
    await feed.until(() => two!.resumed > 0);
    expect(two!.sink.frame(frame(taken + 1))).toBe(true);
    slow.destroy();
    await feed.until(() => two!.isClosed);
  });

  test("[H13] a reader that leaves is forgotten, and frames for it are dropped", async () => {
    await using feed = await openFeed();
    const reader = await feed.open();
    expect(feed.streams.size).toBe(1);
    await reader[Symbol.asyncDispose]();
    await feed.until(() => feed.readers[0]!.isClosed);
    expect(feed.streams.size).toBe(0);
    expect(feed.readers[0]!.sink.frame(frame(1))).toBe(true);
    feed.readers[0]!.sink.end("closed");
  });

  test("[H13] a stream whose watch is over says why and ends", async () => {
    await using feed = await openFeed();
    await using reader = await feed.open();
    feed.readers[0]!.sink.end("deleted");
    expect(await reader.rest()).toBe(": deleted\n\n");
    expect(feed.streams.size).toBe(0);
  });

  test("[H14] a door that closes ends every stream with a comment and begins no other", async () => {
    await using feed = await openFeed();
    const open = await Promise.all([feed.open(), feed.open()]);
    feed.readers[0]!.sink.frame(frame(7));
    feed.streams.drain();
    expect(await open[0].rest()).toBe('event: entry\nid: e1.7\ndata: {"seq":7}\n\n: closed\n\n');
    expect(await open[1].rest()).toBe(": closed\n\n");
    expect(feed.readers.every((reader) => reader.isClosed)).toBe(true);
    expect(feed.clock.waiting).toBe(0);
    await using late = await feed.open();
    expect(late.status).toBe(503);
    expect(feed.readers[2]!.isClosed).toBe(true);
  });
});
