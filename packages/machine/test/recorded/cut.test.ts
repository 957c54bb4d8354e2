// A stream of events that is cut, at every byte of it, by connections that are really cut: of a session whose process is
// real, with texts of every width and with all in them that could be taken for the end of an event.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventIn, type TestEvent } from "../rig.ts";
import { Shapes, shapesOf } from "./shape.ts";
import { Stage } from "./stage.ts";

const openStage = () => Stage.open(mkdtempSync(join(tmpdir(), "lichen-recorded-")));
const shapes = new Shapes(shapesOf("shapes.json"), shapesOf("beyond.json"));

/** The first bytes of a stream after a number, or all up to an event or a moment; the connection is cut then. */
async function received(
  stage: Stage,
  name: string,
  {
    after,
    bytes,
    last,
    until,
  }: { after: number; bytes: number; last?: number; until?: Promise<void> },
): Promise<Buffer> {
  const answer = await stage.rig.stream(`/v1/sessions/${name}/events`, {
    method: "GET",
    headers: { "last-event-id": String(after) },
  });
  void until?.then(() => answer.destroy());
  let whole = Buffer.alloc(0);
  try {
    for await (const chunk of answer) {
      whole = Buffer.concat([whole, chunk as Buffer]);
      const hasLast = last !== undefined && eventsIn(whole).some(({ id }) => id === last);
      if (whole.length >= bytes || hasLast) break;
    }
  } catch (error) {
    // It was cut at its moment.
    if (!until) throw error;
  }
  answer.destroy();
  return whole.subarray(0, bytes);
}

/** Events that came whole: a client acts on one at the blank line behind it, and never before. */
function eventsIn(bytes: Buffer): TestEvent[] {
  return bytes
    .toString()
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => eventIn(block) ?? []);
}

test("[MA16] a stream of a real process that is really cut, at every byte of it, loses and repeats nothing", async () => {
  await using stage = await openStage();
  await stage.rig.make("a");
  await stage.send("a", "recite");
  await stage.until("a", (it) => it.turns === 1 && it.state === "idle");
  const { last_seq: last } = await stage.info("a");
  const all = (after: number) =>
    received(stage, "a", { after, bytes: Number.MAX_SAFE_INTEGER, last });
  const whole = await all(0);
  const events = eventsIn(whole);
  expect(events.map(({ id }) => id)).toEqual(Array.from({ length: last }, (_, n) => n + 1));
  expect(whole.toString()).toContain("žluťoučký");
  const together = 16;
  for (let from = 0; from < whole.length; from += together)
    await Promise.all(
      Array.from({ length: Math.min(together, whole.length - from) }, async (_, n) => {
        const bytes = from + n + 1;
        const cut = await received(stage, "a", { after: 0, bytes });
        expect(cut.equals(whole.subarray(0, bytes))).toBe(true);
        const got = eventsIn(cut);
        const rest = got.length === last ? [] : eventsIn(await all(got.at(-1)?.id ?? 0));
        expect([...got, ...rest]).toEqual(events);
      }),
    );
}, 240_000);

test("[MA16] a client whose every connection is cut sooner or later is told a session that goes on once and in order", async () => {
  await using stage = await openStage();
  await stage.rig.make("a");
  const turns = 6;
  const talking = (async () => {
    for (let turn = 1; turn <= turns; turn++) {
      await stage.send("a", "recite");
      await stage.until("a", (it) => it.turns === turn && it.state === "idle");
    }
  })();
  let isOver = false;
  const over = talking.then(() => {
    isOver = true;
  });
  over.catch(() => {
    // It is told below.
  });
  const told: TestEvent[] = [];
  const take = (bytes: Buffer): void => {
    told.push(...eventsIn(bytes).filter(({ id }) => id !== undefined));
  };
  for (let bytes = 1; !isOver; bytes = (bytes % 2_000) + 37)
    take(await received(stage, "a", { after: told.length, bytes, until: over }));
  await over;
  const { last_seq: last } = await stage.info("a");
  if (told.length < last)
    take(await received(stage, "a", { after: told.length, bytes: Number.MAX_SAFE_INTEGER, last }));
  expect(told).toHaveLength(last);
  expect(told.map(({ id, seq }) => [id, seq])).toEqual(told.map((_, n) => [n + 1, n + 1]));
  expect(told.filter(({ data }) => data["type"] === "result")).toHaveLength(turns);
}, 120_000);

test("[MA17] what streams is an event without a number, under that of the last real one", async () => {
  await using stage = await openStage();
  const { name } = await stage.words("working");
  const { last_seq: last } = await stage.info(name);
  const answer = await stage.rig.stream(`/v1/sessions/${name}/events?after=${last}`, {
    method: "GET",
  });
  let whole = Buffer.alloc(0);
  for await (const chunk of answer) {
    whole = Buffer.concat([whole, chunk as Buffer]);
    if (eventsIn(whole).length > 0) break;
  }
  answer.destroy();
  const [partial] = eventsIn(whole);
  expect(partial).toMatchObject({ seq: last, kind: "partial", data: { text: "I am at it" } });
  expect(partial).not.toHaveProperty("id");
  expect([
    ...shapes.differences(partial, "Event"),
    ...shapes.differences(partial?.data, "event partial"),
  ]).toEqual([]);
}, 60_000);
