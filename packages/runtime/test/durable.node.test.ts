// Syncs and checkpoints of a store file.

import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";

import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSql } from "../src/host/node/index.ts";
import { WalSync } from "../src/host/node/wal-sync.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "durable-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A file whose syncs wait for the test, each at its own gate. */
function gatedFile(): {
  file: Pick<FileHandle, "datasync" | "close">;
  gates: PromiseWithResolvers<void>[];
  isClosed: () => boolean;
} {
  const gates: PromiseWithResolvers<void>[] = [];
  let closed = false;
  return {
    gates,
    isClosed: () => closed,
    file: {
      datasync() {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        return gate.promise;
      },
      close() {
        closed = true;
        return Promise.resolve();
      },
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("[S4] whoever asks while a sync is under way shares the one that begins after it", async () => {
  const { file, gates } = gatedFile();
  const sync = new WalSync(file, { synced() {}, failed() {} });
  const settled: string[] = [];
  const ask = (name: string): void => void sync.durable().then(() => settled.push(name));
  ask("a");
  await turn();
  ask("b");
  ask("c");
  await turn();
  expect(gates.length).toBe(1);
  gates[0]!.resolve();
  await turn();
  expect(settled).toEqual(["a"]);
  expect(gates.length).toBe(2);
  ask("d");
  gates[1]!.resolve();
  await turn();
  expect(settled).toEqual(["a", "b", "c"]);
  expect(gates.length).toBe(3);
  gates[2]!.resolve();
  await turn();
  expect(settled).toEqual(["a", "b", "c", "d"]);
});

test("[S5] a failed sync is told once, and nothing is called durable afterwards", async () => {
  const { file, gates } = gatedFile();
  const told: unknown[] = [];
  const sync = new WalSync(file, { synced() {}, failed: (error) => void told.push(error) });
  const failure = new Error("EIO");
  const first = sync.durable().catch((error: unknown) => error);
  await turn();
  const second = sync.durable().catch((error: unknown) => error);
  gates[0]!.reject(failure);
  expect(await first).toBe(failure);
  expect(await second).toBe(failure);
  expect(await sync.durable().catch((error: unknown) => error)).toBe(failure);
  expect(told).toEqual([failure]);
  expect(gates.length).toBe(1);
});

test("[S5] closing waits for the syncs that were asked for", async () => {
  const { file, gates, isClosed } = gatedFile();
  const sync = new WalSync(file, { synced() {}, failed() {} });
  const asked = sync.durable();
  await turn();
  const closing = sync.close();
  await turn();
  expect(isClosed()).toBe(false);
  gates[0]!.resolve();
  await asked;
  await closing;
  expect(isClosed()).toBe(true);
});

test("[S5] a sync that the operating system refuses rejects and reaches the host's callback", () =>
  withFolder(async (folder) => {
    const handle = await open(join(folder, "wal"), "w");
    await handle.close();
    const told: unknown[] = [];
    const sync = new WalSync(handle, { synced() {}, failed: (error) => void told.push(error) });
    await expect(sync.durable()).rejects.toThrow(/EBADF|closed/);
    expect(told.length).toBe(1);
  }));

test("[S10] past 4 MiB of new frames a worker copies the WAL, and the next writer begins it anew", () =>
  withFolder(async (folder) => {
    const { sql, checkpoints, close } = await openSql(join(folder, "store.db"));
    sql.run("create table item (n integer primary key, bytes blob)");
    await sql.durable();
    const chunk = new Uint8Array(1_048_576).fill(7);
    for (let n = 0; n < 5; n++) sql.run("insert into item (n, bytes) values (?, ?)", n, chunk);
    expect(checkpoints!.wal().uncopiedBytes).toBeGreaterThan(5 * 1_048_576);
    await sql.durable();
    await checkpoints!.settled();
    expect(checkpoints!.wal().uncopiedBytes).toBe(0);
    sql.run("insert into item (n) values (100)");
    expect(checkpoints!.wal().bytes).toBeLessThan(65_536);
    expect(sql.all("select count(*) as count, sum(length(bytes)) as bytes from item")).toEqual([
      { count: 6, bytes: 5 * 1_048_576 },
    ]);
    await close();
  }));

test("[S10] a writer that never pauses cannot grow the WAL much past 64 MiB", () =>
  withFolder(async (folder) => {
    const { sql, checkpoints, close } = await openSql(join(folder, "store.db"));
    sql.run("create table item (n integer primary key, bytes blob)");
    const chunk = new Uint8Array(262_144).fill(7);
    let most = 0;
    // 160 MiB, one transaction after the other, with syncs as the only pauses.
    for (let n = 0; n < 640; n++) {
      sql.run("insert or replace into item (n, bytes) values (?, ?)", n % 64, chunk);
      await sql.durable();
      most = Math.max(most, checkpoints!.wal().bytes);
    }
    expect(most).toBeLessThan(80 * 1_048_576);
    await close();
  }));

test("[S10] an idle owner gives the WAL back", () =>
  withFolder(async (folder) => {
    const { sql, checkpoints, close } = await openSql(join(folder, "store.db"), { idleMs: 1 });
    sql.run("create table item (n integer primary key)");
    await sql.durable();
    while (checkpoints!.wal().uncopiedBytes > 0) await turn();
    sql.run("insert into item (n) values (1)");
    expect(checkpoints!.wal().bytes).toBeLessThan(3 * 4_200);
    await close();
  }));

test("[S10] closing is safe twice and in the middle of a copy", () =>
  withFolder(async (folder) => {
    const path = join(folder, "store.db");
    const first = await openSql(path);
    first.sql.run("create table item (n integer primary key, bytes blob)");
    first.sql.run("insert into item (n, bytes) values (1, ?)", new Uint8Array(6 * 1_048_576));
    await first.sql.durable();
    const settled = first.checkpoints!.settled();
    await Promise.all([first.close(), first.close()]);
    await settled;
    const second = await openSql(path);
    expect(second.sql.all("select length(bytes) as bytes from item")).toEqual([
      { bytes: 6 * 1_048_576 },
    ]);
    await second.close();
  }));
