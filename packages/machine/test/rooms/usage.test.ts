// What sessions used, from their logs into the rows that clients read.

import { mkdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { EngineScript } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import { dayOf, type UsageRow } from "../../src/usage/usage-table.ts";
import { Rig } from "../rig.ts";
import { assistantLine, line, scriptedHarness } from "../scripted.ts";
import { claudeTranscript, typed } from "./transcripts.ts";

interface Told {
  readonly machine: string;
  readonly rows: UsageRow[];
}

async function usage(rig: Rig, query = ""): Promise<Told> {
  const { status, body } = await rig.tell(`/v1/usage${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as Told;
}

/** The rows, once so many turns are counted: no call waits for that without an end. */
async function untilTurns(rig: Rig, count: number): Promise<UsageRow[]> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const { rows } = await usage(rig);
    const sum = rows.reduce((turns, row) => turns + row.turns, 0);
    if (sum >= count || Date.now() > deadline) return rows;
  }
}

const result = (total: number) =>
  line({
    type: "result",
    subtype: "success",
    duration_ms: 40,
    total_cost_usd: total,
    usage: {
      input_tokens: 100,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 3,
      output_tokens: 7,
    },
    result: "x".repeat(20_000),
  });

/** Each turn says two blocks of one message, and costs half a dollar more. */
function spending(first = 0.5): EngineScript {
  let total = first - 0.5;
  return () => {
    total += 0.5;
    return [{ append: [assistantLine("one"), assistantLine("two"), result(total)] }];
  };
}

async function turn(rig: Rig, name: string, by?: string): Promise<void> {
  const { turns } = await rig.info(name);
  await rig.machine.sessions.get(name).send({ text: "go" }, by);
  await rig.until(name, (info) => info.turns === turns + 1 && info.state === "idle");
}

test("[AD45] a turn counts by its result alone, under its day, session, device, model and harness", async () => {
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ script: spending() })] });
  await rig.make("a");
  await turn(rig, "a", "phone");
  await turn(rig, "a", "phone");
  await turn(rig, "a");
  const day = dayOf(rig.machine.platform.now());
  const { rows, ...rest } = await usage(rig);
  expect(rest).toEqual({ machine: hostname(), limits: null, credits: [] });
  const row = {
    ...{ day, session: "a", model: "scripted-1", harness: "claude", busy_ms: expect.any(Number) },
    ...{ by: "", turns: 1, input: 100, cache_read: 20, cache_write: 3, output: 7, cost_usd: 0.5 },
  };
  expect(rows).toEqual([
    row,
    {
      ...row,
      ...{ by: "phone", turns: 2, input: 200, cache_read: 40, cache_write: 6, output: 14 },
      cost_usd: 1,
    },
  ]);
  expect((await usage(rig, `?since=${day}`)).rows).toHaveLength(2);
  expect((await usage(rig, "?since=2999-01-01")).rows).toEqual([]);
  for (const query of ["?since=yesterday", "?since=2026-13-01", "?until=2026-01-01"])
    expect((await rig.tell(`/v1/usage${query}`)).status).toBe(400);
});

test("[AD55] a turn whose result says no usage, or none but zeros, is counted by its messages, sub-agents' too", async () => {
  const said = (id: string, output: number, extra = {}) =>
    line({
      ...{ type: "assistant", parent_tool_use_id: null, ...extra },
      message: {
        id,
        model: "scripted-1",
        content: [],
        usage: { input_tokens: 1, output_tokens: output },
      },
    });
  const results = [{}, { usage: { input_tokens: 0, output_tokens: 0 } }];
  const script: EngineScript = () => [
    {
      append: [
        ...[said("m1", 2), said("m1", 3), said("m2", 10, { parent_tool_use_id: "t1" })],
        line({ type: "result", subtype: "success", duration_ms: 1, ...results.shift() }),
      ],
    },
  ];
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ script })] });
  await rig.make("a");
  await turn(rig, "a");
  await turn(rig, "a");
  expect((await usage(rig)).rows).toMatchObject([{ turns: 2, input: 4, output: 26 }]);
});

test("[AD40] rows outlive their session and the machine's process; each turn counts once, also where the table is made anew", async () => {
  const harnesses = [scriptedHarness({ script: spending() })];
  const first = await Rig.open({ harnesses });
  await using _ended = first;
  await first.make("a");
  await first.make("b");
  for (let n = 0; n < 3; n++) await turn(first, "a", "phone");
  await turn(first, "b");
  await first.tell("/v1/sessions/a/rename", { json: { name: "c" } });
  await turn(first, "c", "phone");
  expect(await first.tell("/v1/sessions/b", { method: "DELETE" })).toMatchObject({ status: 204 });
  const before = (await usage(first)).rows;
  expect(before.map(({ session, turns }) => [session, turns])).toEqual([
    ["b", 1],
    ["c", 4],
  ]);
  await first.close();
  const second = await Rig.open({ harnesses, root: first.root });
  expect((await usage(second)).rows).toEqual(before);
  await turn(second, "c", "phone");
  expect((await usage(second)).rows.map(({ turns }) => turns)).toEqual([1, 5]);
  await second.close();
  for (const end of ["", "-wal", "-shm"])
    rmSync(join(first.root, "state", `machine.db${end}`), { force: true });
  await using third = await Rig.open({ harnesses, root: first.root });
  const rebuilt = await untilTurns(third, 5);
  expect(rebuilt.map(({ session, turns }) => [session, turns])).toEqual([["c", 5]]);
  expect(third.reports).toEqual([]);
});

test("[AD47] a long log is counted from its beginning in the background, in its order", async () => {
  let total = 0;
  const script: EngineScript = () => [
    {
      append: Array.from({ length: 50 }, () => [
        assistantLine("word"),
        result((total += 1)),
      ]).flat(),
    },
  ];
  const harnesses = [scriptedHarness({ script })];
  const first = await Rig.open({ harnesses });
  await using _ended = first;
  await first.make("a");
  for (let n = 0; n < 4; n++) await turn(first, "a");
  const sum = { turns: 200, output: 1_400, cost_usd: 200 };
  expect((await usage(first)).rows).toMatchObject([sum]);
  await first.close();
  for (const end of ["", "-wal", "-shm"])
    rmSync(join(first.root, "state", `machine.db${end}`), { force: true });
  await using again = await Rig.open({ harnesses, root: first.root });
  expect(await untilTurns(again, 200)).toMatchObject([sum]);
});

test("[AD42] a conversation that was continued charges nobody for its past", async () => {
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ script: spending(90) })] });
  const dir = join(rig.home, "work");
  mkdirSync(dir);
  claudeTranscript({ home: rig.home, id: "c-1", lines: [typed("hi", 1, dir)] });
  await rig.tell("/v1/sessions", { json: { name: "a", resume: "c-1" } });
  await turn(rig, "a", "phone");
  await turn(rig, "a", "laptop");
  const { rows } = await usage(rig);
  expect(rows.map(({ by, cost_usd }) => [by, cost_usd])).toEqual([
    ["laptop", 0.5],
    ["phone", 0],
  ]);
});
