// What salvage makes of programs, finished ones and open ones.

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodePlatform, openSql, salvageStore } from "../src/host/node/index.ts";
import type { Program } from "../src/index.ts";
import { type Move, scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { type GuestCall, runGuest } from "./guest.ts";
import { entriesOf, prompt, run, settled, Stage } from "./stage.ts";

const platform = nodePlatform({
  report: (error) => {
    throw error;
  },
});
const tables = ["program", "program_call", "approval", "call", "entry"] as const;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "salvage-programs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A program that writes, asks a person, and reads what is long. */
function moves(effects: string[]): readonly Move[] {
  const noted = (name: string, value: string) => (): string => (effects.push(name), value);
  const calls: readonly GuestCall[] = [
    { operation: "a.write", label: "write", effect: noted("write", "written") },
    { operation: "a.long", effect: noted("long", "long ".repeat(20_000)) },
    { operation: "a.pay", label: "write", confirm: {}, effect: noted("pay", "paid") },
  ];
  const program = async (running: Program): Promise<string> =>
    JSON.stringify(await runGuest(running, calls, (told) => told.length === 2));
  return [
    { calls: [{ name: "execute", replaySafe: true, program }] },
    { say: ({ outcomes }) => JSON.stringify(outcomes[0]?.content) },
  ];
}

/** A store with a program that waits for a person, and one that has ended; as a killed host leaves it. */
async function told(effects: string[]): Promise<string> {
  const path = join(folder, "live", "host.db");
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const life = await stage.open({
    engine: (work) => (work.text === "text of waits" ? moves(effects) : moves([])),
  });
  const ended = life.session("ended");
  const { commandId } = await ended.send(prompt("ends"));
  await until(async () => (await ended.info()).approvals === 1, "the question");
  const { approvals } = await ended.read();
  const { approvalId } = approvals[0]!;
  await ended.send({ type: "answer", requestId: "a", approvalId, allow: false });
  await settled(ended, commandId!);
  await life.session().send(prompt("waits"));
  await until(async () => (await life.session().info()).approvals === 1, "the question");
  await until(() => file.sql.all("select 1 from program_snapshot").length > 0, "the snapshot");
  await turns(20);
  stage.end();
  file.sql.all("pragma wal_checkpoint(TRUNCATE)");
  await cp(join(folder, "live"), join(folder, "from"), { recursive: true });
  await file.close();
  return join(folder, "from", "host.db");
}

function rowsOf(path: string): Record<string, unknown[]> {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = tables.map((table) => [table, db.prepare(`select * from ${table}`).all()] as const);
  db.close();
  return Object.fromEntries(
    rows.map(([table, found]) => [
      table,
      found.map((row) => ({ ...row, ...(table === "program" ? { engine: 0, delivered: 0 } : {}) })),
    ]),
  );
}

test("[J11] of a sound store programs are copied, and one that waits for a person goes on from its record", async () => {
  const effects: string[] = [];
  const from = await told(effects);
  const to = join(folder, "to", "host.db");
  const report = await salvageStore({ from, to, platform });
  expect(report.sessions.map(({ lost, ended }) => lost + ended)).toEqual([0, 0]);
  expect(rowsOf(to)).toEqual(rowsOf(from));
  const file = await openSql(to);
  expect(file.sql.all("select 1 from program_snapshot")).toEqual([]);
  expect(file.sql.all("select 1 from program where engine is not null")).toEqual([]);
  const stage = new Stage(file.sql, 1_000_000);
  const life = await stage.open({ engine: scriptedEngine(() => moves(effects)) });
  const { approvals, running } = await life.session().read();
  const { approvalId } = approvals[0]!;
  await turns(10);
  await life.session().send({ type: "answer", requestId: "b", approvalId, allow: true });
  const { answer } = await settled(life.session(), running!.commandId);
  expect(answer).toContain("written");
  expect(answer).toContain("paid");
  expect(effects).toEqual(["write", "long", "pay"]);
  expect(stage.reports).toEqual([]);
  stage.end();
  await file.close();
});

test("[J11] where the end of the log is lost, an open program's calls end as interrupted and nothing of it runs again", async () => {
  const effects: string[] = [];
  const from = await told(effects);
  const db = new DatabaseSync(from);
  const sid = db.prepare("select sid from session where id = 's'").get()!["sid"] as number;
  // The outcome of the write is lost with what follows it; that it was begun is known.
  const lost = db
    .prepare("select min(outcome) as eid from program_call where outcome / 1073741824 = ?")
    .get(sid)!["eid"] as number;
  db.prepare("update entry set data = 'lost' where eid = ?").run(lost);
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  db.close();
  const to = join(folder, "to", "host.db");
  const report = await salvageStore({ from, to, platform });
  expect(report.sessions.find(({ session }) => session === "s")).toMatchObject({ ended: 1 });
  const file = await openSql(to);
  const stage = new Stage(file.sql, 1_000_000);
  const life = await stage.open({ engine: [{ say: "ok" }] });
  const entries = await entriesOf(life.session());
  const ends = entries.filter((it) => it.kind === "program.outcome");
  expect(ends.length).toBe(entries.filter((it) => it.kind === "program.call").length);
  expect(ends.length).toBeGreaterThan(0);
  for (const { data } of ends) expect(data).toMatchObject({ code: "interrupted" });
  expect(entries.slice(-2).map((it) => it.kind)).toEqual(["run.settled", "line"]);
  expect(entries.filter((it) => it.kind === "message.tool")).toHaveLength(1);
  expect(entries.at(-2)!.data).toMatchObject({ terminal: "outcome_unknown" });
  expect((await run(life.session(), "next")).answer).toBe("ok");
  expect(stage.reports).toEqual([]);
  stage.end();
  await file.close();
});
