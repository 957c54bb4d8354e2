// What state a store is in: looked at read-only, without its lease, also while a host serves it.

import { stat } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import { schemaVersion } from "../../store/schema.ts";
import { openSql } from "./sql.ts";
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
    }
  | { readonly state: "newer"; readonly schema: number; readonly known: number }
  /** A database of another program. */
  | { readonly state: "foreign" }
  | { readonly state: "damaged"; readonly why: string }
  /** It cannot be looked at: rights, a disk that fails, a file system without locks. */
  | { readonly state: "unreadable"; readonly why: string };

/** Reads all of the store at `path` once; SQLite's own check of every page. */
export async function inspectStore(path: string): Promise<StoreState> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return { state: "missing" };
  const wal = await stat(`${path}-wal`).catch(() => undefined);
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
      return { state: "sound", schema, sessions: sessions?.n ?? 0, bytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (isDamage(error)) {
      const { cause } = error as Fault;
      return { state: "damaged", why: cause instanceof Error ? cause.message : why };
    }
    if (Fault.is(error)) return { state: "unreadable", why };
    // SQLite's own words for what damage makes of a table of tables: no such column, malformed schema.
    return { state: "damaged", why };
  }
}
