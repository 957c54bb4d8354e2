// What salvage makes of a machine's agents: what is kept of them, their numbered events, the state of their harness.

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodePlatform, openSql, salvageStore } from "../src/host/node/index.ts";
import type { HarnessDraft } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { prompt, Stage, run } from "./stage.ts";

const pageBytes = 4_096;
const platform = nodePlatform({
  report: (error) => {
    throw error;
  },
});
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "salvage-harness-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const heard = (n: number): HarnessDraft => ({
  kind: "harness.line",
  data: { harness: "scripted", line: { n, text: "said ".repeat(100) } },
});

const lost = { harness: "scripted", line: "the lost end ".repeat(400) };

/** A store with a kept agent that was set, renamed and talked to, and a removed one; as a killed host leaves it. */
async function told(): Promise<string> {
  const path = join(folder, "live", "host.db");
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const life = await stage.open({ agents: [] });
  const engine = scriptedEngine([{ append: [heard(0)] }, { say: "ok" }]);
  const kept = await life.owner.attach({ agent: "k1", name: "demo", engine, settings: { n: 0 } });
  await kept.create({ requestId: "made", session: "main", events: true });
  const session = kept.session("main");
  for (let n = 1; n <= 30; n++) {
    await session.configure({ n }, "phone", { quiet: n % 3 === 0 });
    await session.record([
      heard(n),
      { kind: "harness.conversation", data: { conversation: `c${n}` } },
      { kind: "harness.process", data: { group: n, startedAt: "t", boot: "b" } },
    ]);
    if (n % 10 === 0) await run(session, `p${n}`);
  }
  await session.rename("renamed");
  const gone = await life.owner.attach({ agent: "k2", name: "gone", engine, settings: {} });
  await gone.create({ requestId: "made", session: "main", events: true });
  await run(gone.session("main"), "p");
  await life.owner.remove("k2");
  await cp(join(folder, "live"), join(folder, "from"), { recursive: true });
  stage.end();
  await file.close();
  return join(folder, "from", "host.db");
}

function rowsOf(path: string): Record<string, unknown[]> {
  const db = new DatabaseSync(path, { readOnly: true });
  const read = (text: string): unknown[] => db.prepare(text).all();
  const rows = {
    agent: read("select * from agent order by aid"),
    harness: read("select * from harness order by sid"),
    event: read("select * from event order by sid, n"),
  };
  db.close();
  return rows;
}

/** Lets nothing of the pages that hold `marker` be read. */
async function destroy(path: string, marker: string): Promise<void> {
  const db = new DatabaseSync(path);
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  db.close();
  const bytes = await readFile(path);
  let count = 0;
  for (let at = pageBytes; at < bytes.length; at += pageBytes) {
    if (!bytes.subarray(at, at + pageBytes).includes(marker)) continue;
    bytes.fill(0xff, at, at + pageBytes);
    count++;
  }
  expect(count).toBeGreaterThan(0);
  await writeFile(path, bytes);
}

test("[RH12] of a sound store kept agents, numbers and the state of harnesses are copied as they are, and what was removed stays so", async () => {
  const from = await told();
  const to = join(folder, "to", "host.db");
  await salvageStore({ from, to, platform });
  expect(rowsOf(to)).toEqual(rowsOf(from));
  expect(rowsOf(to)["agent"]).toMatchObject([
    { name: "k1", label: "renamed", settings: '{"n":30}', engine: "scripted" },
    { name: "-2", label: null, settings: null },
  ]);
  const file = await openSql(to);
  const stage = new Stage(file.sql, 100_000);
  const life = await stage.open({ agents: [] });
  expect(life.owner.kept()).toMatchObject([{ agent: "k1", label: "renamed", settings: { n: 30 } }]);
  const kept = await life.owner.attach({ agent: "k1", engine: scriptedEngine() });
  const { last } = await kept.session("main").events({ after: 0, limit: 1 });
  await run(kept.session("main"), "later");
  expect((await kept.session("main").events({ after: last, limit: 9 })).events).toMatchObject([
    { n: last + 1, entry: { kind: "message.user" } },
  ]);
  stage.end();
  await file.close();
});

test("[RH12] a session whose own row is lost keeps the numbers of its events", async () => {
  const from = await told();
  const numbersIn = (path: string): unknown[] => {
    const rows = rowsOf(path)["event"] as { sid: number }[];
    return rows.filter(({ sid }) => sid === 1);
  };
  const before = numbersIn(from);
  await destroy(from, '"turns"');
  const to = join(folder, "to", "host.db");
  await salvageStore({ from, to, platform });
  const kept = numbersIn(to);
  expect(kept.length).toBeGreaterThan(10);
  expect(kept).toEqual(before.slice(0, kept.length));
  const db = new DatabaseSync(to, { readOnly: true });
  const [row] = db
    .prepare("select json_extract(info, '$.events') as n from session where sid = 1")
    .all();
  expect(row).toEqual({ n: kept.length });
  db.close();
});

test("[RH12] what stood open in a session whose end is lost ends as events of their own, the message that waited with its text", async () => {
  const path = join(folder, "live", "host.db");
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const ask = { kind: "tool" as const, key: "p-1", prompt: "p-1", tool: "Bash", input: {} };
  const life = await stage.open({ agents: [] });
  const kept = await life.owner.attach({
    ...{ agent: "k1", name: "demo", settings: {} },
    engine: scriptedEngine([{ append: [heard(0)] }, { ask }]),
  });
  await kept.create({ requestId: "made", session: "main", events: true });
  const session = kept.session("main");
  await session.send(prompt("first"));
  await until(async () => (await session.info()).approvals === 1, "it asks");
  await session.send(prompt("second"));
  for (let n = 1; n <= 30; n++) await session.record([heard(n)]);
  for (let n = 0; n < 30; n++) await session.record([{ kind: "harness.line", data: lost }]);
  await cp(join(folder, "live"), join(folder, "from"), { recursive: true });
  stage.end();
  await file.close();
  const from = join(folder, "from", "host.db");
  await destroy(from, "the lost end");
  const to = join(folder, "to", "host.db");
  await salvageStore({ from, to, platform });
  const db = new DatabaseSync(to, { readOnly: true });
  const events = db
    .prepare("select kind, data from event join entry using (eid) where event.sid = 1 order by n")
    .all()
    .map(({ kind, data }) => [kind, JSON.parse(String(data)) as Record<string, unknown>] as const);
  db.close();
  const ends = events.filter(([kind]) => kind !== "harness.line" && kind !== "message.user");
  expect(ends).toMatchObject([
    ["approval.withdrawn", { prompt: "p-1" }],
    ["run.settled", { was: "running", untold: {} }],
    ["run.settled", { was: "pending", untold: { message: "text of second" } }],
  ]);
});
