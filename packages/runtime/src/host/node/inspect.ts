// What state a store is in: looked at read-only, without its lease, also while a host serves it.

import { constants, type Stats } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename } from "node:path";
import { Fault } from "@lichen/wire";
import { readCapabilities } from "../../capability/capability-rows.ts";
import { schemaVersion } from "../../store/schema.ts";
import type { Sql } from "../../store/sql.ts";
import { openSql } from "./sql.ts";
import { toSystemRefusal } from "./folder.ts";
import { isDamage } from "./sqlite-refusal.ts";

export type StoreState =
  | { readonly state: "missing" }
  /** A file without a table in it: a host makes the store anew. */
  | { readonly state: "empty" }
  | {
      readonly state: "sound";
      readonly schema: number;
      readonly sessions: number;
      /** Of the file and its WAL. */
      readonly bytes: number;
      /** Capabilities that lend nothing, or not what they should. */
      readonly troubled: readonly { readonly namespace: string; readonly problem: string }[];
    }
  | { readonly state: "newer"; readonly schema: number; readonly known: number }
  /** A database of another program. */
  | { readonly state: "foreign" }
  | { readonly state: "damaged"; readonly why: string }
  /** This user cannot go on with it, or not even look at it: rights, no file, a disk that fails, no locks. */
  | { readonly state: "unreadable"; readonly why: string };

/** Reads all of the store at `path` once; SQLite's own check of every page. */
export async function inspectStore(path: string): Promise<StoreState> {
  let found: Stats | undefined;
  let wal: Stats | undefined;
  try {
    found = await statIfThere(path);
    if (!found) return { state: "missing" };
    wal = await statIfThere(`${path}-wal`);
  } catch (error) {
    return { state: "unreadable", why: wordsOf(toSystemRefusal(error, basename(path))) };
  }
  // SQLite would leave files beside it that nobody may write either.
  const unwritable = await whyUnwritable(path);
  if (unwritable !== undefined) return { state: "unreadable", why: unwritable };
  // Opening a pipe would wait for its other end.
  if (!found.isFile()) return { state: "unreadable", why: `${basename(path)} is no file` };
  if (found.size === 0 && (wal?.size ?? 0) === 0) return { state: "empty" };
  if (found.size > 0 && found.size < 512)
    return { state: "damaged", why: `the file holds ${found.size} bytes only` };
  try {
    const file = await openSql(path, { readOnly: true });
    try {
      const checked = file.sql.all<{ quick_check: string }>("pragma quick_check(3)");
      const faults = checked.map((row) => row.quick_check).filter((it) => it !== "ok");
      if (faults.length > 0) return { state: "damaged", why: faults.join("; ") };
      const names = file.sql.all<{ name: string }>(
        "select name from sqlite_schema where type = 'table'",
      );
      if (names.length === 0) return { state: "empty" };
      if (!names.some(({ name }) => name === "meta")) return { state: "foreign" };
      const [row] = file.sql.all<{ value: string }>("select value from meta where name = 'schema'");
      if (!row) return { state: "foreign" };
      const schema = Number(row.value);
      if (schema > schemaVersion) return { state: "newer", schema, known: schemaVersion };
      const [sessions] = file.sql.all<{ n: number }>(
        "select count(*) as n from session where deleted = 0",
      );
      const bytes = found.size + (wal?.size ?? 0);
      const troubled = schema >= 2 ? troubledCapabilities(file.sql) : [];
      return { state: "sound", schema, sessions: sessions?.n ?? 0, bytes, troubled };
    } finally {
      await file.close();
    }
  } catch (error) {
    const why = wordsOf(error);
    if (isDamage(error)) {
      const { cause } = error as Fault;
      return { state: "damaged", why: cause instanceof Error ? cause.message : why };
    }
    if (Fault.is(error)) return { state: "unreadable", why };
    // SQLite's own words for what damage makes of a table of tables: no such column, malformed schema.
    return { state: "damaged", why };
  }
}

function troubledCapabilities(sql: Sql): { namespace: string; problem: string }[] {
  const agents = sql.all<{ aid: number }>("select distinct aid from capability_part");
  return agents
    .flatMap(({ aid }) => readCapabilities(sql, aid))
    .flatMap(({ namespace, state, problem }) =>
      problem && state !== "released" ? [{ namespace, problem: problem.message }] : [],
    );
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Which of the store's files this user may not write. */
async function whyUnwritable(path: string): Promise<string | undefined> {
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-lease`])
    try {
      await access(file, constants.R_OK | constants.W_OK);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (code !== "ENOENT") return `this user may not write ${basename(file)} (${code})`;
    }
  return undefined;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
