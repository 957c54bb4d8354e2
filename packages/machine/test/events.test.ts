import { get } from "node:http";
import { nodePlatform } from "@lichen/runtime/node";
import type { EngineHost } from "@lichen/runtime";
import type { Json, JsonObject } from "@lichen/wire";
import { expect, test } from "vitest";
import { eventIn, Rig, type TestEvent } from "./rig.ts";
import { assistantLine, line, scriptedHarness } from "./scripted.ts";

const talking = scriptedHarness({
  script: (work) => [{ append: [assistantLine(`re: ${work.text}`)] }, { say: "ok" }],
});

async function talk(rig: Rig, name: string, messages: number): Promise<void> {
  const { turns } = await rig.info(name);
  for (let at = 0; at < messages; at++) {
    await rig.send(name, `message ${at}`);
    await rig.until(name, (it) => it.turns === turns + at + 1);
  }
}

test("[MA10] every numbered entry is one event under the name and with the data that clients know", async () => {
  const question = { questions: [{ question: "Which?", header: "H", options: [{ label: "A" }] }] };
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          {
            ask: {
              kind: "question",
              prompt: "req-1",
              tool: "AskUserQuestion",
              questions: question.questions,
            },
          },
          { append: [line({ type: "result", odd: [1, null, "ž"] })] },
          { say: "ok" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "ask me", "m1");
  await rig.until("a", (it) => it.state === "waiting");
  await rig.tell("/v1/sessions/a/prompts/req-1", {
    json: { allow: true, answers: { "Which?": "A" } },
  });
  await rig.until("a", (it) => it.turns === 1);
  await rig.tell("/v1/sessions/a/settings", { json: { keep_running: true } });
  await rig.tell("/v1/sessions/a/rename", { json: { name: "b" } });
  await rig.tell("/v1/sessions/b/new", { method: "POST" });
  await using reader = await rig.events("b");
  const events = await reader.take(6);
  expect(events.map(({ id, seq }) => [id, seq])).toEqual([1, 2, 3, 4, 5, 6].map((n) => [n, n]));
  expect(events.map(({ kind, data }) => [kind, data])).toEqual([
    ["message", { text: "ask me", id: "m1" }],
    ["answer", { prompt: "req-1", allow: true, message: "", answers: { "Which?": "A" } }],
    ["claude", { type: "result", odd: [1, null, "ž"] }],
    ["setting", { keep_running: true }],
    ["renamed", { from: "a", to: "b" }],
    ["new_conversation", {}],
  ]);
  for (const { time } of events) expect(new Date(time).toISOString()).toBe(time);
  expect(rig.bugs).toEqual([]);
});

test("[MA10] what a harness began by itself is a message from outside, by its source", async () => {
  let lent: EngineHost | undefined;
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ opened: (host) => (lent = host) })],
  });
  await rig.make("a");
  await lent?.outside({ source: "heartbeat", text: "Anything new?" });
  await lent?.record([{ kind: "harness.stopped", data: { reason: "finished" } }]);
  await using reader = await rig.events("a");
  const events = (await reader.take(2)).sort((one, other) => (one.kind < other.kind ? -1 : 1));
  expect(events).toMatchObject([
    { kind: "message", by: "heartbeat", data: { text: "Anything new?", outside: true } },
    { kind: "stopped", data: { reason: "finished" } },
  ]);
  const { tail } = await rig.until("a", (it) => it.turns === 1);
  expect(tail).toEqual(["› heartbeat: Anything new?"]);
});

test("[MA16] a reader begins at its number, at its tail or at the beginning, and a catch-up is never cut short", async () => {
  await using rig = await Rig.open({ harnesses: [talking] });
  await rig.make("a");
  await talk(rig, "a", 5);
  const idsOf = async (
    query: string,
    count: number,
    headers = {},
  ): Promise<(number | undefined)[]> => {
    await using reader = await rig.events("a", query, headers);
    return (await reader.take(count)).map(({ id }) => id);
  };
  expect(await idsOf("", 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await idsOf("?tail=3", 3)).toEqual([8, 9, 10]);
  expect(await idsOf("?after=0&tail=100", 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await idsOf("?after=4&tail=1", 6)).toEqual([5, 6, 7, 8, 9, 10]);
  expect(await idsOf("?after=2&tail=1", 2, { "last-event-id": "8" })).toEqual([9, 10]);
  // Numbers of a log that is no more: the reader sees at once that they are lower than its own.
  expect(await idsOf("?after=999&tail=2", 2)).toEqual([9, 10]);
  expect(await idsOf("?after=4&tail=2&epoch=another", 2)).toEqual([9, 10]);
  const { epoch } = await rig.info("a");
  expect(await idsOf(`?after=9&epoch=${epoch}`, 1)).toEqual([10]);
  await using reader = await rig.events("a", "?tail=1");
  await reader.take(1);
  expect(reader.comments).toEqual([`: epoch ${epoch}`]);
  expect(reader.headers.get("content-type")).toBe("text/event-stream");
  for (const wrong of ["?after=-1", "?after=x", "?tail=1.5", "?since=1", "?after=1&after=2"])
    expect((await rig.tell(`/v1/sessions/a/events${wrong}`)).status).toBe(400);
  const bad = await rig.ask("/v1/sessions/a/events", { headers: { "last-event-id": "x.1" } });
  expect(bad.status).toBe(400);
});

test("[MA16] a stream that is cut at any byte loses and repeats nothing", async () => {
  await using rig = await Rig.open({ harnesses: [talking] });
  await rig.make("a");
  await talk(rig, "a", 3);
  // What the machine tells depends on the number that the reader comes back with, and on nothing else.
  const streams = await Promise.all(
    Array.from({ length: 7 }, async (_, after) => {
      await using reader = await rig.events("a", "", { "last-event-id": String(after) });
      await reader.take(6 - after);
      return reader.received;
    }),
  );
  const [whole = ""] = streams;
  const expected = [1, 2, 3, 4, 5, 6];
  for (let cut = 0; cut <= whole.length; cut++) {
    const got = eventsIn(whole.slice(0, cut));
    const rest = eventsIn(streams[got.at(-1)?.id ?? 0] ?? "");
    expect([...got, ...rest].map(({ id }) => id)).toEqual(expected);
  }
  // And so it is with a connection that is really cut.
  for (let cut = 1; cut < whole.length; cut += 97) {
    const got = eventsIn(await readCut(rig, "/v1/sessions/a/events", cut));
    await using reader = await rig.events("a", "", {
      "last-event-id": String(got.at(-1)?.id ?? 0),
    });
    got.push(...(await reader.take(6 - got.length)));
    expect(got.map(({ id }) => id)).toEqual(expected);
  }
});

/** The first bytes of an answer, whose connection is cut then. */
function readCut(rig: Rig, path: string, bytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization: `Bearer ${rig.host.token}` };
  const request = get(`${rig.host.url}${path}`, { agent: false, headers }, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("error", () => {});
    answer.on("data", (chunk: string) => {
      text += chunk;
      if (text.length < bytes) return;
      request.destroy();
      resolve(text.slice(0, bytes));
    });
  });
  request.on("error", reject);
  return promise;
}

/** Whole events of a stream that may end in the middle of one. */
function eventsIn(text: string): TestEvent[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .map(eventIn)
    .filter((event) => event !== undefined);
}

test("[MA16] a reader that was away for thousands of events is told each of them, in pages", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          { append: Array.from({ length: 3_000 }, (_, n) => line({ type: "tool_progress", n })) },
          { say: "ok" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "go");
  await rig.until("a", (it) => it.turns === 1);
  await using reader = await rig.events("a", "?after=1");
  const events = await reader.take(3_000);
  expect(events.map(({ id }) => id)).toEqual(Array.from({ length: 3_000 }, (_, n) => n + 2));
});

test("[MA17] what streams is shown as it grows, has no number, and each reader gets what it does not have yet", async () => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          { partials: ["Hel"] },
          {
            gate: async ({ run }) => {
              await gates[0]!.promise;
              run.partial({ tool: { index: 0, name: "Bash" } });
            },
          },
          { partials: ["Hello, wor"] },
          { gate: gates[1]!.promise },
          { append: [assistantLine("Hello, world")] },
          { say: "Hello, world" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await using early = await rig.events("a");
  await rig.send("a", "hi");
  expect(await early.take(2)).toMatchObject([
    { id: 1, kind: "message" },
    { seq: 1, kind: "partial", data: { text: "Hel" } },
  ]);
  gates[0]!.resolve();
  const [grown] = await early.take(1);
  expect(grown).toMatchObject({ seq: 1, kind: "partial", data: { text: "lo, wor" } });
  expect(grown).not.toHaveProperty("id");
  await using late = await rig.events("a", "?after=1");
  expect(await late.take(1)).toMatchObject([{ kind: "partial", data: { text: "Hello, wor" } }]);
  gates[1]!.resolve();
  for (const reader of [early, late])
    expect(await reader.take(1)).toMatchObject([{ id: 2, kind: "claude" }]);
});

/** A harness's own language in another: its texts moved about, within others and in JSON that is a text. */
function translated(value: Json): JsonObject {
  const { text = "" } = value as { text?: string };
  const within = JSON.stringify({ value, again: JSON.stringify({ text }) });
  return { type: "translated", text, quoted: `<"${text}">`, within, value };
}

test("[MA35] a text that was put aside for its length comes back whole in its event", async () => {
  // Small each, and together too long for a row.
  const items = Array.from({ length: 18_000 }, (_, n) => ({ n, it: `item ${n} "é"` }));
  const huge = `\u0000\u001f\u007f\u2028\b\f\t\r\\${'ab\u{1F344}\n"'.repeat(200_000)}end`;
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          {
            append: [
              line({
                type: "user",
                message: { content: [{ type: "tool_result", content: huge, is_error: false }] },
              }),
              line({ blob: "f".repeat(64), mimeType: "application/json", bytes: 3 }),
              assistantLine("x".repeat(50_000)),
            ],
          },
          { say: "ok" },
        ],
      }),
      scriptedHarness({
        name: "pi",
        lines: { toClaudeLine: translated },
        script: [{ append: [line({ text: huge }), line({ items })] }, { say: "ok" }],
      }),
    ],
  });
  await rig.make("a");
  await rig.make("b", { harness: "pi" });
  for (const name of ["a", "b"]) {
    await rig.send(name, "go");
    await rig.until(name, (it) => it.turns === 1);
  }
  await using reader = await rig.events("a", "?after=1");
  const [result, lookalike, said] = await reader.take(3);
  expect(result?.data["message"]).toEqual({
    content: [{ type: "tool_result", content: huge, is_error: false }],
  });
  expect(lookalike?.data).toMatchObject({ blob: "f".repeat(64), mimeType: "application/json" });
  expect(said?.data).toMatchObject({ message: { content: [{ text: "x".repeat(50_000) }] } });
  expect((await rig.info("a")).preview).toBe("x".repeat(200));
  await using other = await rig.events("b", "?after=1");
  expect((await other.take(2)).map(({ data }) => data)).toEqual([
    translated({ text: huge }),
    translated({ items }),
  ]);
});

test("[MA17] a stream ends when its session is deleted and when the machine goes down, and says so", async () => {
  const rig = await Rig.open({ harnesses: [talking] });
  await using _rig = rig;
  await rig.make("a");
  await rig.make("b");
  await using a = await rig.events("a");
  await using b = await rig.events("b");
  await rig.tell("/v1/sessions/a", { method: "DELETE" });
  expect(await a.next()).toBeUndefined();
  expect(a.comments).toContain(": deleted");
  await rig.close();
  expect(await b.next()).toBeUndefined();
  expect(b.comments.at(-1)).toBe(": closed");
});

test("[MA17] an idle stream shows every 20 s that it lives, by a comment that no client takes for an event", async () => {
  const beats: (() => void)[] = [];
  const base = nodePlatform({ report: () => {} });
  await using rig = await Rig.open({
    platform: {
      ...base,
      after: (ms, wake) => {
        if (ms !== 20_000) return base.after(ms, wake);
        beats.push(wake);
        return () => {};
      },
    },
  });
  await rig.make("a");
  await using reader = await rig.events("a");
  for (let beat = 0; beat < 3; beat++) {
    while (beats.length <= beat) await new Promise((resolve) => void setImmediate(resolve));
    beats[beat]!();
  }
  await rig.send("a", "hello");
  expect(await reader.take(1)).toMatchObject([{ id: 1, kind: "message" }]);
  expect(reader.comments.slice(1)).toEqual(Array(3).fill(": keepalive"));
});
