// Figure 7: what an event costs its client: received, checked and folded into the view of a long session, against
// parsing the same bytes and doing nothing with them.

import { createClient, ViewFold } from "@lichen/client";
import { type Baseline, type Entry, noUsage } from "@lichen/wire";
import { createParser } from "eventsource-parser";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { interleaved } from "./statistics.ts";

export const clientFigure: Figure = {
  number: 7,
  title: "CPU of a client per event, in a session of 10,000 entries",
  measure,
};

const at = "2026-01-01T00:00:00.000Z";
const words = "what a person or a model writes, at the length that it often has; ".repeat(3);

const tokens = { input: 900, output: 90, cacheRead: 0, cacheWrite: 0 };

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const entries = context.isQuick ? 1_000 : 10_000;
  const rounds = context.isQuick ? 2 : 9;
  const events = eventsOf(entries);
  const micros = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / events.length;
  };
  const watched = await interleaved(
    rounds,
    () => micros(() => watch(events, entries, () => {})),
    () => micros(() => parse(events)),
  );
  const folded = await interleaved(
    rounds,
    () =>
      micros(() => {
        const fold = new ViewFold();
        return watch(events, entries, (frame) => fold.take(frame));
      }),
    () => micros(() => parse(events)),
  );
  const drawn = await interleaved(
    rounds,
    () =>
      micros(() => {
        const fold = new ViewFold();
        return watch(events, entries, (frame) => {
          fold.take(frame);
          void fold.view?.items;
        });
      }),
    () => micros(() => parse(events)),
  );
  const reading = (what: string, cost: typeof drawn, target: number): Reading => ({
    what,
    measured: cost.ratio,
    bound: "at most",
    target,
    unit: "x",
    detail: { events: events.length, clientMicros: cost.first, parseMicros: cost.second },
  });
  return [
    reading("an event that is watched, against parsing it", watched, 4),
    reading("an event that is watched and folded", folded, 6),
    reading("an event that is watched, folded and looked at", drawn, 8),
  ];
}

async function parse(events: readonly Uint8Array[]): Promise<void> {
  const decoder = new TextDecoder();
  let last: unknown;
  const parser = createParser({
    onEvent: ({ data }) => {
      last = JSON.parse(data);
    },
  });
  for await (const bytes of bodyOf(events)) parser.feed(decoder.decode(bytes, { stream: true }));
  if (last === undefined) throw new Error("nothing was parsed");
}

async function watch(
  events: readonly Uint8Array[],
  head: number,
  take: (frame: Parameters<ViewFold["take"]>[0]) => void,
): Promise<void> {
  const client = createClient({
    url: "http://bench",
    fetch: () =>
      Promise.resolve(
        new Response(bodyOf(events), { headers: { "content-type": "text/event-stream" } }),
      ),
  });
  for await (const frame of client.agent("a").session("s").watch()) {
    take(frame);
    if (frame.type === "entry" && frame.data.seq === head) return;
  }
}

function bodyOf(events: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const bytes = events[next++];
      if (bytes) controller.enqueue(bytes);
      else controller.close();
    },
  });
}

/** A baseline, then turns of eight entries, each with as many partials as entries. */
function eventsOf(entries: number): Uint8Array[] {
  const encoder = new TextEncoder();
  const events = [frame("baseline", emptyBaseline(), "e.0")];
  for (let seq = 1; seq <= entries; seq++) {
    events.push(frame("entry", entryAt(seq), `e.${seq}`));
    const command = `cmd_${seq - ((seq - 1) % 8)}`;
    events.push(frame("partial", { commandId: command, text: words.slice(0, seq % 200) }));
  }
  // A watch ends with its last entry.
  events.pop();
  return events.map((text) => encoder.encode(text));
}

function frame(event: string, data: object, id?: string): string {
  const line = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${line}data: ${JSON.stringify(data)}\n\n`;
}

function entryAt(seq: number): Entry {
  const step = (seq - 1) % 8;
  const start = seq - step;
  const parts: [string, Entry["data"], boolean][] = [
    ["command.queued", { type: "prompt", text: words }, false],
    ["run.started", { type: "prompt", engine: "model" }, false],
    ["message.user", { text: words }, true],
    [
      "message.assistant",
      {
        content: [
          { type: "text", text: words },
          { type: "call", index: 0, callId: "c", name: "read", input: { path: "notes/today.md" } },
        ],
        stop: "calls",
      },
      true,
    ],
    [
      "call.started",
      {
        assistant: `ent_${start + 3}`,
        index: 0,
        callId: "c",
        name: "read",
        label: "read",
        replaySafe: true,
        digest: "0",
      },
      false,
    ],
    [
      "message.tool",
      {
        assistant: `ent_${start + 3}`,
        index: 0,
        callId: "c",
        name: "read",
        content: [{ type: "text", text: words }],
        isError: false,
      },
      true,
    ],
    ["message.assistant", { content: [{ type: "text", text: words }], stop: "stop" }, true],
    [
      "run.settled",
      { terminal: "completed", answer: words, usage: { ...tokens }, toolCalls: 1, was: "running" },
      false,
    ],
  ];
  const [kind, data, isMessage] = parts[step]!;
  const previous: Record<number, number> = {
    2: start - 2,
    3: start + 2,
    5: start + 3,
    6: start + 5,
  };
  const parent = previous[step];
  return {
    seq,
    id: `ent_${seq}`,
    at,
    kind,
    commandId: `cmd_${start}`,
    data,
    ...(isMessage && parent !== undefined && parent > 0 ? { parent: `ent_${parent}` } : {}),
  };
}

function emptyBaseline(): Baseline {
  return {
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
      createdAt: at,
      lastAt: at,
    },
    entries: [],
    more: false,
    pending: [],
    approvals: [],
    attention: [],
    projections: {},
  };
}
