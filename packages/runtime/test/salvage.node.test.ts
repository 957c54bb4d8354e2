// What is copied of a store that is damaged: compared, entry by entry, with what was in it.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  acquireLease,
  nodePlatform,
  openSql,
  type SalvageReport,
  salvageStore,
} from "../src/host/node/index.ts";
import type { Sql } from "../src/index.ts";
import { type Move, scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { line, prompt, refusal, run, sent, settled, Stage } from "./stage.ts";

const platform = nodePlatform({
  report: (error) => {
    throw error;
  },
});
let folder: string;
/** A store with everything in it, whose newest commits stand in its WAL. */
let whole: Told;
/** The same without a WAL: all of it stands in the file. */
let folded: Told;

interface EntryText {
  readonly eid: number;
  readonly kind: string;
  readonly data: string;
}
interface Told {
  readonly path: string;
  readonly entries: ReadonlyMap<number, readonly EntryText[]>;
  readonly names: ReadonlyMap<number, string>;
  readonly keys: ReadonlyMap<number, string>;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "salvage-"));
  whole = await tellMuch(join(folder, "whole", "host.db"));
  folded = { ...whole, path: await copyOf(whole, "folded") };
  const db = new DatabaseSync(folded.path);
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  db.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("[S31] of a store that is sound everything is copied, and it goes on where it was", async () => {
  const stored = join(import.meta.dirname, "stores");
  const from = join(folder, "sound", "store.db");
  await mkdir(join(folder, "sound"));
  await copyFile(join(stored, "schema-1.db"), from);
  const to = await salvaged(from);
  expect(to.report).toMatchObject({ unreadablePages: 0, isWalCut: false });
  for (const session of to.report.sessions)
    expect(session).toMatchObject({ lost: 0, lostBlobs: 0, ended: 0, isEndKnown: true });
  const before = rowsOf(from);
  expect(rowsOf(to.path)).toEqual(before);
  expect(before["command"]?.length).toBeGreaterThan(5);
  expect(before["call"]?.length).toBeGreaterThan(2);

  const seen = JSON.parse(await readFile(join(stored, "schema-1.json"), "utf8")) as {
    baselines: Record<string, object>;
    settlements: Record<string, { of: string }>;
  };
  await withStage(to.path, async (stage) => {
    const life = await stage.open({
      engine: scriptedEngine((work) =>
        work.text === "asks" || work.text === "opens"
          ? [
              { calls: [{ name: work.text === "asks" ? "pay" : "send", label: "write" }] },
              { say: "paid" },
            ]
          : [{ say: "ok" }],
      ),
      capacity: 0,
    });
    for (const [of, baseline] of Object.entries(seen.baselines)) {
      const {
        epoch: _epoch,
        session: info,
        ...rest
      } = baseline as { epoch: string; session: { epoch: string } };
      const { epoch: _own, ...shown } = info;
      expect(await life.session(of).read()).toMatchObject({ ...rest, session: shown });
    }
    for (const [commandId, { of, ...settlement }] of Object.entries(seen.settlements))
      expect(await life.session(of).readSettlement(commandId)).toMatchObject(settlement);
    expect(await refusal(life.session("gone").send(prompt("gone")))).toBe("closed");
    expect(await refusal(life.session("talk").send(prompt("never sent")))).toBe("withdrawn");
    expect((await life.session("asks").send(prompt("queued"))).replay).toBe(true);
    expect((await life.session("talk").search({ q: "NEEDLE IN" })).found).toHaveLength(1);
    const { approvals } = await life.session("asks").read();
    expect(approvals).toMatchObject([{ tool: "pay", state: "pending" }]);
    expect(stage.reports).toEqual([]);
  });
});

test.for(Array.from({ length: 9 }, (_, seed) => seed + 1))(
  "[S32] of a store with random bytes over its pages each session keeps the part that can be read (%i)",
  async (seed) => {
    const random = mulberry(seed * 7_919);
    const told = seed % 3 === 0 ? whole : folded;
    const from = await copyOf(told, `random-${seed}`);
    const pages = (await stat(from)).size / 4_096;
    const file = await open(from, "r+");
    for (let n = 0; n <= seed; n++) {
      const at = Math.floor(random() * pages) * 4_096;
      const bytes = 16 + Math.floor(random() * 4_080);
      const noise = Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256));
      await file.write(noise, 0, bytes, at + Math.floor(random() * (4_096 - bytes)));
    }
    await file.close();
    const { report } = await expectPrefixes(from, told);
    if (seed > 5) expect(report.unreadablePages).toBeGreaterThan(0);
  },
);

test.for([0.5, 0.75, 0.9, 0.99])(
  "[S32] of a store that is cut short at %d of its length each session keeps what stands before the cut",
  async (part) => {
    const from = await copyOf(folded, `cut-${part}`);
    await truncate(from, Math.floor((await stat(from)).size * part));
    const { report } = await expectPrefixes(from, folded);
    expect(report.sessions.length).toBeGreaterThan(0);
    expect(report.unreadablePages).toBeGreaterThanOrEqual(Math.floor(report.pages * (1 - part)));
  },
);

test.for([
  ["its header", 100],
  ["its first page", 4_096],
] as const)("[S32] a store without %s loses nothing but that", async ([, bytes]) => {
  const from = await copyOf(folded, `headless-${bytes}`);
  const file = await open(from, "r+");
  await file.write(new Uint8Array(bytes), 0, bytes, 0);
  await file.close();
  expect(() => new DatabaseSync(from, { readOnly: true }).prepare("select * from meta")).toThrow();
  const { report } = await expectPrefixes(from, whole);
  expect(report.sessions.map(({ lost, lostBlobs }) => lost + lostBlobs)).toEqual(
    report.sessions.map(() => 0),
  );
  expect(report.sessions).toHaveLength(whole.names.size);
});

test("[S32] what a damaged WAL still holds is copied, and its end counts as lost", async () => {
  const from = await copyOf(whole, "wal");
  const file = await open(`${from}-wal`, "r+");
  await file.write(new Uint8Array(64).fill(7), 0, 64, 32 + 5 * 4_120 + 2_000);
  await file.close();
  const { report } = await expectPrefixes(from, whole);
  expect(report.isWalCut).toBe(true);
  expect(report.sessions.every(({ isEndKnown }) => !isEndKnown)).toBe(true);
});

test("[S32] a session whose own row is lost is found by its name, key and entries", async () => {
  const from = await copyOf(whole, "rowless");
  const db = new DatabaseSync(from);
  const [row] = db.prepare("select sid, id, key from session where id = 'talk'").all();
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  db.close();
  // As damage leaves it: the row no longer adds up, its indexes and entries do.
  await replaceInFile(from, Buffer.from(`"session":"talk"`), Buffer.from(`"sess\u0000on":"talk"`));
  const { report, path } = await salvaged(from);
  const talk = report.sessions.find(({ session }) => session === "talk");
  expect(talk).toMatchObject({ isEndKnown: false, isNameless: false, lost: 0 });
  const found = new DatabaseSync(path, { readOnly: true });
  expect(found.prepare("select sid, id, key from session where id = 'talk'").get()).toEqual(row);
  found.close();
});

test("[S33] nothing runs again that may have run in the part that is lost, and request ids stay used", async () => {
  const from = await copyOf(whole, "open");
  const db = new DatabaseSync(from);
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  const rows = db
    .prepare(
      `select e.eid, e.kind from entry e join session s on s.sid = e.eid / 1073741824
       where s.id = 'opens' order by e.eid`,
    )
    .all() as { eid: number; kind: string }[];
  // The outcome of the write is lost with all that follows it; that the call was begun is known.
  const cut = rows.find(({ kind }) => kind === "message.tool")!.eid;
  expect(rows.at(-1)!.eid - cut).toBeGreaterThan(3);
  db.prepare("update entry set data = 'lost' where eid = ?").run(cut);
  db.exec("pragma wal_checkpoint(TRUNCATE)");
  db.close();
  const { report, path } = await salvaged(from);
  const opens = report.sessions.find(({ session }) => session === "opens")!;
  expect(opens).toMatchObject({ ended: 2, isEndKnown: true });
  expect(opens.leftOut).toBe(opens.lost - 1);
  await withStage(path, async (stage) => {
    const ran: string[] = [];
    const life = await stage.open({
      engine: scriptedEngine([{ say: "ok" }], { onRun: ({ text }) => void ran.push(text) }),
    });
    const session = life.session("opens");
    await turns(20);
    expect(ran).not.toContain("opens");
    expect(ran).not.toContain("text of behind");
    const { entries } = await session.read();
    expect(entries.map(({ kind }) => kind).slice(-4)).toEqual([
      "message.tool",
      "run.settled",
      "run.settled",
      "line",
    ]);
    expect(
      entries.filter(({ kind }) => kind === "run.settled").map(({ data }) => data),
    ).toMatchObject([
      { terminal: "outcome_unknown", was: "running" },
      { terminal: "outcome_unknown", was: "pending" },
    ]);
    expect((await session.info()).state).toBe("idle");
    // Admitted before the cut: the first receipt. Behind it: refused, never done twice.
    expect((await session.send(prompt("opens", { text: "opens" }))).replay).toBe(true);
    expect(await refusal(session.send(prompt("after")))).toBe("withdrawn");
    expect((await run(session, "a new one")).terminal).toBe("completed");
    expect(stage.reports).toEqual([]);
  });
});

test("[S34] the damaged files are not changed, and nobody writes to them meanwhile", async () => {
  const from = await copyOf(whole, "untouched");
  const file = await open(from, "r+");
  await file.write(new Uint8Array(8_192), 0, 8_192, 8_192);
  await file.close();
  const before = digests(from);
  const { path } = await salvaged(from);
  expect(digests(from)).toEqual(before);
  // The lease of a store stays where the store is.
  expect((await readdir(join(path, ".."))).toSorted()).toEqual(["host.db", "host.db-lease"]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const lease = await acquireLease(from);
  expect(await refusal(salvageStore({ from, to: join(folder, "held", "host.db"), platform }))).toBe(
    "unavailable",
  );
  lease.release();
});

test.for([0x2000, 0x0200, 0x0001, 0x8000])(
  "[S32] a page size that is damaged to another one, %i, costs nothing",
  async (size) => {
    for (const told of [folded, whole]) {
      const from = await copyOf(told, `sized-${size}-${told === whole ? "wal" : "folded"}`);
      const file = await open(from, "r+");
      await file.write(Uint8Array.from([size >> 8, size & 0xff]), 0, 2, 16);
      await file.close();
      const { report } = await expectPrefixes(from, whole);
      expect(
        report.sessions.filter(({ isCopied, isNameless }) => isCopied && !isNameless),
      ).toHaveLength(whole.names.size);
      expect(report.sessions.reduce((sum, it) => sum + it.lost, 0)).toBe(0);
    }
  },
);

test("[S34] what is no store, a target that is not empty and a newer schema are refused and leave nothing", async () => {
  const to = join(folder, "refused", "host.db");
  const noise = join(folder, "noise.db");
  await writeFile(noise, Buffer.alloc(40_000, 7));
  expect(await refusal(salvageStore({ from: noise, to, platform }))).toBe("unreadable");
  expect(await refusal(salvageStore({ from: join(folder, "none.db"), to, platform }))).toBe(
    "invalid",
  );
  const from = await copyOf(whole, "newer");
  const db = new DatabaseSync(from);
  db.exec("update meta set value = '999'; pragma wal_checkpoint(TRUNCATE)");
  db.close();
  expect(await refusal(salvageStore({ from, to, platform }))).toBe("unreadable");
  expect(await readdir(join(folder, "refused"))).toEqual([]);
  await writeFile(join(folder, "refused", "mine.txt"), "");
  expect(await refusal(salvageStore({ from: whole.path, to, platform }))).toBe("invalid");
});

/** A store with many sessions, blobs, forks and open work, as a host leaves it that is killed. */
async function tellMuch(path: string): Promise<Told> {
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const long = "a long answer ".repeat(5_000);
  const scripts: Record<string, readonly Move[]> = {
    long: [{ say: long }],
    opens: [{ calls: [{ name: "send", label: "write" }] }, { say: "sent" }],
    waits: [
      { calls: [{ name: "send", label: "write", effect: () => new Promise<never>(() => {}) }] },
    ],
  };
  const life = await stage.open({
    engine: scriptedEngine(({ text }) => scripts[text] ?? [{ say: `about ${text} `.repeat(40) }]),
  });
  const image = { mimeType: "image/png" as const, data: "iVBORw0KGgo=" };
  const talk = life.session("talk");
  await settled(talk, await sent(talk, prompt("opens", { text: "opens" })));
  await settled(talk, await sent(talk, prompt("image", { text: "see", images: [image] })));
  await talk.change({ title: "Talk" });
  await talk.fork({ requestId: "fork", session: "fork" });
  const fork = life.session("fork");
  await run(fork, "own");
  const opens = life.session("opens");
  const first = await sent(opens, prompt("opens", { text: "opens" }));
  const behind = await sent(opens, prompt("behind"));
  await settled(opens, first);
  await settled(opens, behind);
  await run(opens, "after");
  await run(life.session("gone"), "gone");
  await life.session("gone").delete();
  for (let round = 0; round < 5; round++)
    for (let n = 0; n < 16; n++) {
      const session = life.session(`many-${n}`);
      if (round === 2 && n % 5 === 0)
        await settled(session, await sent(session, prompt("long", { text: "long" })));
      else await run(session, `r${round}`);
      if (round === 3) await session.send(line(`l${round}`));
      if (round === 3 && n === 8) file.sql.all("pragma wal_checkpoint(RESTART)");
    }
  await sent(life.session("waits"), prompt("waits", { text: "waits" }));
  await until(async () => (await life.session("waits").info()).state === "running", "the call");
  await turns(20);
  stage.end();
  const told = { path: `${path}.kept/host.db`, ...contentsOf(file.sql) };
  // Its files as they stand while it is open: what a killed host leaves.
  await mkdir(`${path}.kept`);
  for (const end of ["", "-wal"]) await copyFile(`${path}${end}`, `${told.path}${end}`);
  await file.close();
  return told;
}

function contentsOf(sql: Pick<Sql, "all">): Omit<Told, "path"> {
  const sessions = sql.all<{ sid: number; id: string; key: string }>(
    "select sid, id, key from session where deleted = 0",
  );
  const entries = new Map<number, EntryText[]>();
  for (const { sid } of sessions)
    entries.set(
      sid,
      sql.all<EntryText>(
        "select eid, kind, data from entry where eid / 1073741824 = ? order by eid",
        sid,
      ),
    );
  return {
    entries,
    names: new Map(sessions.map(({ sid, id }) => [sid, id])),
    keys: new Map(sessions.map(({ sid, key }) => [sid, key])),
  };
}

async function copyOf({ path }: Told, name: string): Promise<string> {
  const target = join(folder, name);
  await cp(join(path, ".."), target, { recursive: true });
  return join(target, "host.db");
}

async function salvaged(from: string): Promise<{ path: string; report: SalvageReport }> {
  const path = join(`${from}.salvaged`, "host.db");
  return { path, report: await salvageStore({ from, to: path, platform }) };
}

/** Salvages, and holds what came of it against what was there. */
async function expectPrefixes(from: string, told: Told): Promise<{ report: SalvageReport }> {
  const { path, report } = await salvaged(from);
  const db = new DatabaseSync(path);
  const after = contentsOf({ all: (text, ...args) => db.prepare(text).all(...args) as never[] });
  expect(db.prepare("pragma integrity_check").all()).toMatchObject([{ integrity_check: "ok" }]);
  expectWholeBlobs(db);
  db.close();
  for (const [sid, entries] of after.entries) {
    const was = told.entries.get(sid);
    // What was deleted may be found where the list of free pages is gone; it has no name then.
    if (!was) continue;
    const session = report.sessions.find((it) => it.session === after.names.get(sid))!;
    if (!session.isNameless) expect(session.session).toBe(told.names.get(sid));
    expect(entries.slice(0, session.kept)).toEqual(was.slice(0, session.kept));
    if (session.isEndKnown) expect(session.kept + session.lost).toBe(was.length);
    if (session.lost === 0 && session.isEndKnown) expect(entries).toHaveLength(was.length);
    else expect(entries.length - session.kept).toBeGreaterThanOrEqual(0);
  }
  await withStage(path, async (stage) => {
    const ran: string[] = [];
    const life = await stage.open({
      engine: scriptedEngine([{ say: "ok" }], { onRun: ({ text }) => void ran.push(text) }),
    });
    const agent = life.agent;
    for (const { session, agent: of } of report.sessions) {
      if (of !== agent.agent) continue;
      await agent.session(session).read();
      if ((await agent.session(session).info()).state === "idle")
        expect((await run(agent.session(session), "one more")).terminal).toBe("completed");
    }
    expect(stage.reports).toEqual([]);
  });
  return { report };
}

function expectWholeBlobs(db: DatabaseSync): void {
  const parts = db.prepare("select sha256, bytes from blob order by sha256, part").all();
  const hashes = new Map<unknown, ReturnType<typeof createHash>>();
  for (const { sha256, bytes } of parts as { sha256: string; bytes: Uint8Array }[]) {
    const hash = hashes.get(sha256) ?? createHash("sha256");
    hashes.set(sha256, hash.update(bytes));
  }
  for (const [sha256, hash] of hashes) expect(hash.digest("hex")).toBe(sha256);
}

async function withStage(path: string, body: (stage: Stage) => Promise<void>): Promise<void> {
  const file = await openSql(path);
  const stage = new Stage(file.sql, 1_000_000);
  try {
    await body(stage);
  } finally {
    stage.end();
    await file.close();
  }
}

/** All that a store says, but for what begins anew in a copy: its epochs, and what only an owner counts. */
function rowsOf(path: string): Record<string, unknown[]> {
  const db = new DatabaseSync(path, { readOnly: true });
  const info = "json_remove(info, '$.epoch')";
  const rows = Object.fromEntries(
    [
      ["agent", "select aid, name, created_at from agent order by aid"],
      [
        "session",
        `select sid, aid, id, key, head, leaf, last_at, state, ${info} as info, forked_from, forked_sid, tools, deleted from session order by sid`,
      ],
      ["entry", "select * from entry order by eid"],
      [
        "command",
        "select cid, type, state, delivery, request, identity, started, joined, cancelled, settled, recoveries, calls from command order by cid",
      ],
      ["call", "select * from call order by assistant, position"],
      ["approval", "select * from approval order by asked"],
      ["request", "select * from request order by aid, session, request"],
      ["blob", "select * from blob order by sha256, part"],
      ["use", "select * from blob_use order by sid, sha256"],
    ].map(([table = "", text = ""]) => [table, sorted(db.prepare(text).all())]),
  );
  db.close();
  return rows;
}

/** Members of an info in one order. */
function sorted(rows: Record<string, unknown>[]): unknown[] {
  return rows.map((row) =>
    typeof row["info"] === "string" ? { ...row, info: JSON.parse(row["info"]) as object } : row,
  );
}

async function replaceInFile(path: string, from: Buffer, to: Buffer): Promise<void> {
  const bytes = await readFile(path);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) to.copy(bytes, at);
  await writeFile(path, bytes);
}

function digests(path: string): string[] {
  return [path, `${path}-wal`].map((file) =>
    createHash("sha256").update(readFileSync(file)).digest("hex"),
  );
}

/** Numbers from 0 to 1, the same ones for a seed. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
