// A store as a file: who may read it, and what a torn WAL, a full disk or a damaged file leave.

import { spawn } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@lichen/wire";
import { expect, test } from "vitest";
import { networkFileSystem } from "../src/host/node/file-system.ts";
import { openSql, type SqlFile, type SqlOptions } from "../src/host/node/index.ts";
import { smallDisk } from "./small-disk.ts";

const program = join(import.meta.dirname, "programs/write-and-die.ts");

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "store-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withFile<T>(
  path: string,
  body: (file: SqlFile) => T | Promise<T>,
  options: SqlOptions = {},
): Promise<T> {
  const file = await openSql(path, options);
  try {
    return await body(file);
  } finally {
    await file.close();
  }
}

const numbers = (file: SqlFile): number[] =>
  file.sql.all<{ n: number }>("select n from item order by n").map((row) => row.n);

/** Runs the program that commits the rows 1..`rows` one by one and kills itself, so that the WAL stays. */
async function writeAndDie(path: string, rows: number): Promise<void> {
  const child = spawn(process.execPath, [program, path, String(rows)], {
    env: {},
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals | null>();
  child.once("exit", (_code, signal) => resolve(signal));
  expect(await promise).toBe("SIGKILL");
}

test("[S9] the files of a store, and a folder made for it, are readable by their owner only", () =>
  withFolder(async (folder) => {
    const inner = join(folder, "a", "b");
    const path = join(inner, "store.db");
    await withFile(path, async ({ sql }) => {
      sql.run("create table item (n integer primary key)");
      for (const file of [path, `${path}-wal`, `${path}-shm`])
        expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await stat(inner)).mode & 0o777).toBe(0o700);
    });
  }));

test("[S9] a network file system is recognised by its type, and behind FUSE by the mount table", () => {
  const mounts = [
    "22 1 254:0 / / rw - ext4 /dev/vda rw",
    "31 22 0:44 / /home/me/far rw - fuse.sshfs host:/ rw",
    "32 22 0:45 / /home/me/far/near rw - fuse.encfs encfs rw",
  ].join("\n");
  const fuse = 0x65735546;
  expect(networkFileSystem(0x6969, "/srv", mounts)).toBe("NFS");
  expect(networkFileSystem(0xff534d42, "/srv", mounts)).toBe("CIFS");
  expect(networkFileSystem(0xef53, "/srv", mounts)).toBeUndefined();
  expect(networkFileSystem(fuse, "/home/me/far/state", mounts)).toBe("fuse.sshfs");
  expect(networkFileSystem(fuse, "/home/me/far/near/state", mounts)).toBeUndefined();
});

test("[S10] a checkpoint that a full disk has no room for is late and no fault, by itself and when it is asked for", async () => {
  await using disk = await smallDisk();
  await withFile(
    join(disk.folder, "host.db"),
    async ({ sql, checkpoints, ...file }) => {
      sql.run("create table item (n integer, text)");
      disk.limit(sql);
      let kept = 0;
      const fill = (): void => {
        for (;;) {
          sql.run("insert into item values (?, ?)", kept, `${kept}`.repeat(50_000));
          kept++;
        }
      };
      expect(fill).toThrow(/the disk of the store host\.db/);
      await sql.durable();
      expect(checkpoints?.restart()).toBeTypeOf("boolean");
      await disk.free(sql);
      expect(checkpoints?.restart()).toBe(true);
      expect(numbers({ sql, checkpoints, ...file })).toEqual(
        Array.from({ length: kept }, (_, n) => n),
      );
    },
    { idleMs: 1 },
  );
});

test("[S7] a WAL torn at any byte, or garbled, reopens with a prefix of the commits and takes new ones", () =>
  withFolder(async (folder) => {
    const path = join(folder, "store.db");
    await writeAndDie(path, 12);
    const whole = await readFile(`${path}-wal`);
    const frame = 4_096 + 24;
    const cuts = [
      0,
      1,
      31,
      32,
      33,
      32 + frame,
      32 + frame + 1,
      32 + 3 * frame + 24,
      whole.length - frame,
      whole.length - 1,
      whole.length,
    ];
    for (let at = 0.13; at < 1; at += 0.17) cuts.push(Math.floor(whole.length * at));
    let longest = 0;
    for (const cut of cuts.toSorted((a, b) => a - b)) {
      const copy = join(folder, `cut-${cut}.db`);
      await copyFile(path, copy);
      await copyFile(`${path}-wal`, `${copy}-wal`);
      await truncate(`${copy}-wal`, cut);
      longest = await expectPrefix(copy, longest);
    }
    expect(longest).toBe(12);
    const garbled = join(folder, "garbled.db");
    await copyFile(path, garbled);
    whole[Math.floor(whole.length * 0.6)]! ^= 0xff;
    await writeFile(`${garbled}-wal`, whole);
    expect(await expectPrefix(garbled, 0)).toBeLessThan(12);
  }));

/** Opens the store, expects the rows 1..k with k at least `least`, and answers k. */
async function expectPrefix(path: string, least: number): Promise<number> {
  return withFile(path, async (file) => {
    file.sql.run("create table if not exists item (n integer primary key, text text)");
    const found = numbers(file);
    expect(found).toEqual(found.map((_, index) => index + 1));
    expect(found.length).toBeGreaterThanOrEqual(least);
    file.sql.run("insert into item (n) values (1000)");
    await file.sql.durable();
    expect(numbers(file).at(-1)).toBe(1_000);
    return found.length;
  });
}

test("[S6] a disk that fills inside nested transactions keeps what was committed, shows the first error and goes on when there is space", async () => {
  await using disk = await smallDisk();
  await withFile(join(disk.folder, "store.db"), async ({ sql, checkpoints }) => {
    sql.run("create table item (n integer primary key, bytes blob)");
    sql.transact(() => sql.run("insert into item (n) values (1)"));
    await sql.durable();
    disk.limit(sql);
    const chunk = new Uint8Array(262_144);
    let reached = 0;
    const fill = (): void =>
      sql.transact(() => {
        sql.run("insert into item (n) values (2)");
        for (let n = 10; n < 100; n++)
          sql.transact(() => {
            sql.run("insert into item (n, bytes) values (?, ?)", n, chunk);
            reached = n;
          });
      });
    expect(fill).toThrow(
      expect.objectContaining({ code: "unavailable", message: expect.stringContaining("full") }),
    );
    expect(reached).toBeGreaterThan(0);
    expect(sql.inTransaction()).toBe(false);
    expect(sql.all("select n from item")).toEqual([{ n: 1 }]);
    await disk.free(sql);
    checkpoints?.restart();
    sql.transact(() => sql.transact(() => sql.run("insert into item (n) values (3)")));
    await sql.durable();
    expect(sql.all("select n from item order by n")).toEqual([{ n: 1 }, { n: 3 }]);
  });
});

test("[S6] a body that goes on after SQLite ended its transaction writes nothing and fails with the first error", () =>
  withFolder((folder) =>
    withFile(join(folder, "store.db"), ({ sql }) => {
      sql.run("create table item (n integer primary key)");
      const first = new Error("the body was told");
      let told: unknown;
      const body = (): void =>
        sql.transact(() => {
          sql.run("insert into item (n) values (1)");
          try {
            // What a full disk does to the whole transaction, a conflict clause can do as well.
            sql.run("insert or rollback into item (n) values (1)");
          } catch (error) {
            told = error;
          }
          expect(sql.inTransaction()).toBe(false);
          expect(() => sql.run("insert into item (n) values (2)")).toThrow(told as Error);
          expect(() => sql.transact(() => sql.run("insert into item (n) values (3)"))).toThrow(
            told as Error,
          );
          if (told === undefined) throw first;
        });
      expect(body).toThrow(/UNIQUE/);
      expect(sql.all("select n from item")).toEqual([]);
      sql.transact(() => sql.run("insert into item (n) values (4)"));
      expect(sql.all("select n from item")).toEqual([{ n: 4 }]);
    }),
  ));

test("[S8] a file that is no database is refused as unreadable, whatever its size, and stays as it was", () =>
  withFolder(async (folder) => {
    for (const size of [1, 100, 5_000, 100_000]) {
      const path = join(folder, `notes-${size}.db`);
      const bytes = Buffer.alloc(size, "these are somebody's notes ");
      await writeFile(path, bytes, { mode: 0o640 });
      for (const readOnly of [false, true]) {
        const refusal: unknown = await openSql(path, { readOnly }).catch((error: unknown) => error);
        expect(Fault.is(refusal) && refusal.code).toBe("unreadable");
        expect((refusal as Fault).message).not.toContain(folder);
      }
      expect(await readFile(path)).toEqual(bytes);
      expect((await stat(path)).mode & 0o777).toBe(0o640);
    }
  }));

test("[S8] a damaged store says so where it is damaged, gives the rest read-only, and is not changed by that", () =>
  withFolder(async (folder) => {
    const path = join(folder, "store.db");
    await withFile(path, ({ sql }) => {
      sql.run("create table item (n integer primary key)");
      sql.run("create table other (n integer primary key)");
      sql.run("insert into item (n) values (1)");
      sql.run("insert into other (n) values (7)");
    });
    const bytes = await readFile(path);
    bytes.fill(0x5a, 4_096, 8_192);
    await writeFile(path, bytes);
    await withFile(path, ({ sql }) => {
      expect(() => sql.all("select n from item")).toThrow(
        expect.objectContaining({ code: "unreadable" }),
      );
      expect(sql.all("select n from other")).toEqual([{ n: 7 }]);
    });
    const before = await readFile(path);
    await withFile(
      path,
      async ({ sql }) => {
        expect(() => sql.all("select n from item")).toThrow(
          expect.objectContaining({ code: "unreadable" }),
        );
        expect(sql.all("select n from other")).toEqual([{ n: 7 }]);
        expect(() => sql.run("insert into other (n) values (8)")).toThrow(/read-only/);
        await sql.durable();
      },
      { readOnly: true },
    );
    expect(await readFile(path)).toEqual(before);
  }));
