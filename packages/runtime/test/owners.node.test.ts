// Owners on real files: two of them, a disk that fills, and a thousand sessions that were killed in mid-run.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodePlatform, openSql, type SqlFile } from "../src/host/node/index.ts";
import { type Agent, type Engine, openOwner, type Owner } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { smallDisk } from "./small-disk.ts";
import { entriesOf, gate, line, prompt, refusal, run, sent, settled } from "./stage.ts";

interface Host {
  readonly file: SqlFile;
  readonly owner: Owner;
  readonly agent: Agent;
  readonly reports: unknown[];
  /** What was said to be the end of this owner. */
  readonly ends: unknown[];
}

async function host(path: string, engine: Engine = scriptedEngine(), capacity = 64): Promise<Host> {
  const file = await openSql(path);
  const reports: unknown[] = [];
  const ends: unknown[] = [];
  const owner = openOwner({
    sql: file.sql,
    platform: nodePlatform({
      report: (error) => reports.push(error),
      lost: (error) => ends.push(error),
    }),
    capacity,
  });
  return { file, owner, reports, ends, agent: await owner.attach({ agent: "a", engine }) };
}

async function leave({ owner, file }: Host): Promise<void> {
  await owner.close({ patienceMs: 0 });
  await file.close();
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "owners-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("[S26] an owner whose store was taken over writes nothing more and says so, while the new one goes on", () =>
  withFolder(async (folder) => {
    const path = join(folder, "store.db");
    const held = gate();
    let effects = 0;
    const engine = scriptedEngine([
      { gate: () => held.opened },
      { calls: [{ name: "write", label: "write", effect: () => `${++effects}` }] },
      { say: "ok" },
    ]);
    const old = await host(path, engine);
    const id = await sent(old.agent.session("s"), prompt("r1"));
    await until(() => old.owner.running() === 1, "it runs");
    const fresh = await host(path, engine);
    await until(() => fresh.owner.running() === 1, "it goes on");
    for (const write of [
      old.agent.session("s").send(prompt("r2")),
      old.agent.session("s").withdraw("r3"),
      old.agent.create({ requestId: "c" }),
      old.agent.session("s").change({ title: "t" }),
      old.agent.session("s").delete(),
    ])
      expect(await refusal(write)).toBe("stale");
    held.open();
    expect((await settled(fresh.agent.session("s"), id)).terminal).toBe("completed");
    await until(() => old.owner.running() === 0, "the old run gave up");
    expect(effects).toBe(1);
    expect(
      (await entriesOf(fresh.agent.session("s"))).filter((it) => it.kind === "run.settled"),
    ).toHaveLength(1);
    expect((await run(fresh.agent.session("s"), "r4")).terminal).toBe("completed");
    expect(fresh.reports).toEqual([]);
    expect(old.ends).toMatchObject([{ code: "stale" }]);
    expect(fresh.ends).toEqual([]);
    await leave(old);
    await leave(fresh);
  }));

test("[S25] a disk that fills in the middle of a group refuses what did not fit, keeps the rest, and everything ends once there is space", async () => {
  await using disk = await smallDisk();
  const held = gate();
  const engine = scriptedEngine((work) =>
    work.text === "runs" ? [{ gate: held.opened }, { say: "y".repeat(200_000) }] : [{ say: "ok" }],
  );
  const it = await host(join(disk.folder, "store.db"), engine, 2);
  const running = await sent(it.agent.session("runs"), prompt("r", { text: "runs" }));
  await until(() => it.owner.running() === 1, "it runs");
  disk.limit(it.file.sql);
  const kept: { session: string; requestId: string; commandId: string }[] = [];
  const refused: { session: string; requestId: string; code: string }[] = [];
  const text = (n: number): string => (n % 3 === 0 ? `${n} `.repeat(20_000) : `${n}`);
  for (let round = 0; round < 8 || refused.length === 0; round++) {
    expect(round).toBeLessThan(80);
    await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const session = `s${n}`;
        const requestId = `${round}-${n}`;
        await it.agent
          .session(session)
          .send(prompt(requestId, { text: text(round * 20 + n) }))
          .then(
            ({ commandId }) => kept.push({ session, requestId, commandId: commandId! }),
            (error: unknown) =>
              refused.push({ session, requestId, code: (error as { code: string }).code }),
          );
      }),
    );
  }
  expect(kept.length).toBeGreaterThan(20);
  for (const { code } of refused) expect(code).toMatch(/unavailable|capacity/);
  held.open();
  await disk.free(it.file.sql);
  it.file.checkpoints?.restart();
  for (const { session, requestId, commandId } of kept) {
    expect(await it.agent.session(session).withdraw(requestId)).toEqual({
      status: "accepted",
      commandId,
    });
    expect((await settled(it.agent.session(session), commandId)).terminal).toBe("completed");
  }
  expect(await settled(it.agent.session("runs"), running)).toMatchObject({ terminal: "completed" });
  for (const { session, requestId } of refused.slice(0, 40))
    expect((await run(it.agent.session(session), requestId)).terminal).toBe("completed");
  await leave(it);
}, 60_000);

test(
  "[S27] a thousand sessions killed in mid-run are driven to an end when the store is opened again",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "store.db");
      const killed = await host(path, scriptedEngine([{ hang: true }]), 1_000);
      const ids = await Promise.all(
        Array.from({ length: 1_000 }, (_, n) => sent(killed.agent.session(`s${n}`), prompt("r"))),
      );
      await until(() => killed.owner.running() === 1_000, "all run");
      // Its lease is gone and its generation over, as if it were dead: the next owner goes on with its runs.
      const next = await host(path);
      const began = performance.now();
      const ends = await Promise.all(ids.map((id, n) => settled(next.agent.session(`s${n}`), id)));
      expect(ends.filter((end) => end.terminal !== "completed")).toEqual([]);
      expect(performance.now() - began).toBeLessThan(20_000);
      await leave(next);
      await leave(killed);
    }),
  60_000,
);

test(
  "[S28] a host that is opened and closed many times, in the middle of everything, keeps all it admitted",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "store.db");
      const ids: string[] = [];
      for (let life = 0; life < 12; life++) {
        const it = await host(path, scriptedEngine([{ say: "step" }, { hang: true }]), 3);
        for (let n = 0; n < 4; n++)
          ids.push(await sent(it.agent.session(`s${n}`), prompt(`r${life}`)));
        await it.agent.session("s0").send(line(`l${life}`));
        await leave(it);
        expect(it.reports).toEqual([]);
      }
      const last = await host(path, scriptedEngine([{ say: "step" }, { say: "end" }]), 3);
      for (const [n, id] of ids.entries())
        expect((await settled(last.agent.session(`s${n % 4}`), id)).terminal).toBe("completed");
      await leave(last);
      expect((await readFile(path)).length).toBeGreaterThan(0);
    }),
  60_000,
);
