// What can be told of a store by looking at it.

import { execFile } from "node:child_process";
import {
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acquireLease, inspectStore, isDamage, isHeld, openSql } from "../src/host/node/index.ts";
import { toRefusal } from "../src/host/node/sqlite-refusal.ts";
import { run, Stage } from "./stage.ts";

const stored = join(import.meta.dirname, "stores/schema-1.db");
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "inspect-"));
  path = join(folder, "host.db");
});
afterEach(() => rm(folder, { recursive: true }));

test("[S35] a store is looked at while its owner works, without its lease and without a change", async () => {
  const lease = await acquireLease(path);
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const life = await stage.open();
  await run(life.session("s"), "one");
  expect(await inspectStore(path)).toMatchObject({ state: "sound", schema: 4, sessions: 1 });
  await run(life.session("t"), "two");
  expect(await inspectStore(path)).toMatchObject({ state: "sound", sessions: 2 });
  stage.end();
  await file.close();
  lease.release();
  const before = [await readFile(path), (await stat(path)).mtimeMs];
  const { state, bytes } = (await inspectStore(path)) as { state: string; bytes: number };
  expect(state).toBe("sound");
  expect(bytes).toBeGreaterThan(100_000);
  expect([await readFile(path), (await stat(path)).mtimeMs]).toEqual(before);
});

test("[S35] what is missing, empty, newer, foreign or damaged is told apart, and damage is known by its refusal", async () => {
  expect(await inspectStore(path)).toEqual({ state: "missing" });
  await writeFile(path, "");
  expect(await inspectStore(path)).toEqual({ state: "empty" });
  await writeFile(path, "short");
  expect(await inspectStore(path)).toMatchObject({ state: "damaged" });
  await copyFile(stored, path);
  const db = new DatabaseSync(path);
  db.exec("update meta set value = '7'");
  expect(await inspectStore(path)).toEqual({ state: "newer", schema: 7, known: 4 });
  db.exec("delete from meta");
  expect(await inspectStore(path)).toEqual({ state: "foreign" });
  db.close();

  await copyFile(stored, path);
  await truncate(path, 40_000);
  expect(await inspectStore(path)).toMatchObject({ state: "damaged" });
  await copyFile(stored, path);
  const file = await open(path, "r+");
  await file.write(new Uint8Array(4_096).fill(3), 0, 4_096, 4_096 * 3);
  expect(await inspectStore(path)).toMatchObject({ state: "damaged" });
  await file.write(new Uint8Array(100), 0, 100, 0);
  await file.close();
  expect(await inspectStore(path)).toMatchObject({ state: "damaged" });
  const refusal = await openSql(path).catch((error: unknown) => error);
  expect(isDamage(refusal)).toBe(true);
  expect(String(refusal)).toContain("lichen doctor --salvage");
  expect(isDamage(new Error("another"))).toBe(false);
});

test("[S35] what is no file, and what cannot be looked at, is neither missing nor empty; nothing waits for a pipe's other end", async () => {
  await promisify(execFile)("mkfifo", [path]);
  expect(await inspectStore(path)).toEqual({ state: "unreadable", why: "host.db is no file" });
  const refused: unknown = await openSql(path).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "unreadable" });
  await rm(path);
  await mkdir(path);
  expect(await inspectStore(path)).toMatchObject({ state: "unreadable" });
  await rm(path, { recursive: true });
  await writeFile(path, "");
  expect(await inspectStore(join(path, "host.db"))).toMatchObject({ state: "unreadable" });
});

test("[S11] a lease that another holds is told apart from all else that is unavailable", async () => {
  const lease = await acquireLease(path);
  expect(isHeld(await acquireLease(path).catch((error: unknown) => error))).toBe(true);
  lease.release();
  for (const code of [10, 13]) {
    const cause = Object.assign(new Error("of SQLite"), { errcode: code });
    expect(isHeld(toRefusal(cause, "host.db"))).toBe(false);
    expect(toRefusal(cause, "host.db")).toMatchObject({ code: "unavailable" });
  }
});
