import { nodePlatform } from "@lichen/runtime/node";
import { type Stream, Streams } from "@lichen/server/door";
import type { Json } from "@lichen/wire";
import { expect, test } from "vitest";
import type { LineReading } from "../src/index.ts";
import { Feed } from "../src/events/feed.ts";
import { Rig } from "./rig.ts";
import { line, scriptedHarness } from "./scripted.ts";

const long = "A row of a very long result.\n".repeat(300_000);
const toolResult = {
  type: "user",
  message: { content: [{ type: "tool_result", content: long, is_error: false }] },
};

/** A session with one event of several megabytes, and a stream of its events that is read as the test says. */
async function openLong(lines: LineReading = {}) {
  const rig = await Rig.open({
    harnesses: [
      scriptedHarness({ lines, script: [{ append: [line(toolResult)] }, { say: "ok" }] }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "go");
  await rig.until("a", (it) => it.turns === 1);
  const { session, harness } = rig.machine.sessions.get("a");
  const { epoch, head, events = 0 } = await session.info();
  let beat = (): void => {};
  const streams = new Streams((_ms, wake) => {
    beat = wake;
    return () => {};
  });
  const stream = streams.create();
  let written = 0;
  const write = stream.write.bind(stream);
  stream.write = (bytes) => {
    written += bytes.length;
    return write(bytes);
  };
  const platform = nodePlatform({ report: () => {} });
  const feed = new Feed({
    ...{ session, stream, reading: harness, mark: "mark", after: 1 },
    at: { epoch, head, events },
    now: () => platform.now(),
    report: (error) => rig.reports.push(error),
  });
  streams.answer(stream, feed);
  return {
    rig,
    streams,
    reader: stream.readable.getReader(),
    stream: stream as Stream,
    beat: () => beat(),
    written: () => written,
    [Symbol.asyncDispose]: async () => {
      streams.drain();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** Long enough for all that needs no reader to have happened. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => void setImmediate(resolve));
}

test.each([
  ["as it is", {}, toolResult],
  [
    "that is translated",
    { toClaudeLine: (value: Json) => ({ type: "translated", value }) },
    { type: "translated", value: toolResult },
  ],
])(
  "[MA40] a long event %s waits for its reader, and no heartbeat comes between its pieces",
  async (_which, lines, data) => {
    await using it = await openLong(lines);
    await turns();
    expect(it.written()).toBeGreaterThan(0);
    expect(it.written()).toBeLessThan(1_048_576);
    let text = "";
    const decoder = new TextDecoder();
    while (!text.endsWith("\n\n")) {
      const { value } = await it.reader.read();
      text += decoder.decode(value, { stream: true });
      if (!text.endsWith("\n\n")) {
        await turns();
        it.beat();
      }
    }
    expect(text.slice(0, 6)).toBe("id: 2\n");
    expect(JSON.parse(text.slice(text.indexOf("data: ") + 6))).toMatchObject({
      seq: 2,
      data,
    });
    it.beat();
    expect(decoder.decode((await it.reader.read()).value)).toBe(": ping\n\n");
  },
);

test("[MA40] a stream that ends in the middle of an event says no word that would end the event too", async () => {
  await using it = await openLong();
  await turns();
  it.streams.drain();
  let text = "";
  const decoder = new TextDecoder();
  for (;;) {
    const { value, done } = await it.reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  expect(text).toMatch(/^id: 2\ndata: /);
  expect(text).not.toContain("\n\n");
  expect(text.length).toBeLessThan(long.length);
});
