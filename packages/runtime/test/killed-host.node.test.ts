// A host that is really killed, at random moments, with clients writing and runs under way.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { nodePlatform, openSql } from "../src/host/node/index.ts";
import { type Agent, openOwner } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { entriesOf } from "./stage.ts";

const program = join(import.meta.dirname, "programs/serve-and-die.ts");

interface Acknowledged {
  /** Command id by session and request id. */
  readonly receipts: Map<string, string>;
  /** Terminal by session and command id. */
  readonly ends: Map<string, string>;
}

/** Runs the host until `lines` acknowledgements came and `ms` more passed, then kills it. */
async function liveAndDie(
  folder: string,
  life: string,
  { lines, ms }: { lines: number; ms: number },
  { receipts, ends }: Acknowledged,
): Promise<void> {
  const child = spawn(
    process.execPath,
    [program, join(folder, "store.db"), life, join(folder, "effects")],
    {
      env: {},
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const { promise: exit, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, ...rest] = line.split(" ");
    if (word === "report") throw new Error(line);
    if (word === "receipt") receipts.set(`${rest[0]} ${rest[1]}`, rest[2]!);
    if (word === "end") ends.set(`${rest[0]} ${rest[1]}`, rest[2]!);
    if (++seen === lines) setTimeout(() => child.kill("SIGKILL"), ms);
  }
  await exit;
}

async function expectAllKept(agent: Agent, { receipts, ends }: Acknowledged): Promise<void> {
  for (const [key, commandId] of receipts) {
    const [id, requestId] = key.split(" ") as [string, string];
    const withdrawal = await agent.session(id).withdraw(requestId);
    expect(withdrawal).toEqual({ status: "accepted", commandId });
    const settlement = await agent.session(id).readSettlement(commandId, { timeoutMs: 10_000 });
    expect(settlement, `${key} has an end`).toBeDefined();
    const told = ends.get(`${id} ${commandId}`);
    if (told) expect(settlement!.terminal).toBe(told);
  }
  for (const { session: id } of (await agent.sessions()).sessions) {
    await until(async () => (await agent.session(id).info()).state === "idle", `${id} is idle`);
    const entries = await entriesOf(agent.session(id));
    expect(entries.map((it) => it.seq)).toEqual(entries.map((_, at) => at + 1));
    const of = (kind: string) => entries.filter((it) => it.kind === kind).map((it) => it.commandId);
    for (const kind of ["command.queued", "message.user", "run.started", "run.settled"])
      expect(new Set(of(kind)).size, `${kind} once each`).toBe(of(kind).length);
    expect(new Set(of("run.settled"))).toEqual(new Set(of("command.queued")));
    expect(of("run.started")).toEqual(
      of("command.queued").filter((it) => of("run.started").includes(it)),
    );
  }
}

async function withReopened(folder: string, body: (agent: Agent) => Promise<void>): Promise<void> {
  const { sql, close } = await openSql(join(folder, "store.db"));
  const reports: unknown[] = [];
  const owner = openOwner({
    sql,
    platform: nodePlatform({ report: (error) => reports.push(error) }),
  });
  try {
    await body(await owner.attach({ agent: "a", engine: scriptedEngine() }));
    expect(reports).toEqual([]);
  } finally {
    await owner.close({ patienceMs: 0 });
    await close();
  }
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "killed-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test(
  "[R6] a host that is killed twenty times loses nothing that it acknowledged, doubles nothing and ends everything",
  () =>
    withFolder(async (folder) => {
      const acknowledged: Acknowledged = { receipts: new Map(), ends: new Map() };
      for (let life = 0; life < 20; life++)
        await liveAndDie(
          folder,
          `l${life}`,
          { lines: 1 + ((life * 7) % 40), ms: Math.floor(Math.random() * 25) },
          acknowledged,
        );
      expect(acknowledged.receipts.size).toBeGreaterThan(100);
      await withReopened(folder, (agent) => expectAllKept(agent, acknowledged));
      const effects = (await readFile(join(folder, "effects"), "utf8")).trim().split("\n");
      expect(effects.length).toBeGreaterThan(20);
      expect(new Set(effects).size, "no write ran twice").toBe(effects.length);
    }),
  90_000,
);

test(
  "[R6] a store whose WAL was torn under a living host opens with a prefix of its history, in which everything ends",
  () =>
    withFolder(async (folder) => {
      const acknowledged: Acknowledged = { receipts: new Map(), ends: new Map() };
      await liveAndDie(folder, "torn", { lines: 60, ms: 5 }, acknowledged);
      const wal = join(folder, "store.db-wal");
      for (const part of [0.97, 0.8, 0.5]) {
        await truncate(wal, Math.floor((await stat(wal)).size * part));
        await withReopened(folder, async (agent) => {
          for (const { session: id } of (await agent.sessions()).sessions) {
            await until(
              async () => (await agent.session(id).info()).state === "idle",
              `${id} is idle`,
            );
            const entries = await entriesOf(agent.session(id));
            expect(entries.map((it) => it.seq)).toEqual(entries.map((_, at) => at + 1));
            const requestId = `after-${part}`;
            const { commandId } = await agent
              .session(id)
              .send({ type: "prompt", requestId, text: "go on" });
            const settlement = await agent
              .session(id)
              .readSettlement(commandId!, { timeoutMs: 10_000 });
            expect(settlement!.terminal).toBe("completed");
          }
        });
        await liveAndDie(
          folder,
          `torn-${part}`,
          { lines: 20, ms: 3 },
          { receipts: new Map(), ends: new Map() },
        );
      }
    }),
  60_000,
);
