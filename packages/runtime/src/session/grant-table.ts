// The table of delivered grants: what the newest `grants.delivered` of each session says.

import type { Grants } from "@lichen/capability";
import type { Sql } from "../store/sql.ts";

export const grantTables: readonly string[] = [
  `create table delivered_grants (
    sid integer primary key, version integer not null, grants text not null)`,
];

export interface DeliveredGrants {
  /** Of the host's decisions; a lower one is refused. */
  readonly version: number;
  readonly grants: Grants;
}

export function deliveredGrants(sql: Sql, sid: number): DeliveredGrants | undefined {
  const [row] = sql.all<{ version: number; grants: string }>(
    "select version, grants from delivered_grants where sid = ?",
    sid,
  );
  return row && { version: row.version, grants: JSON.parse(row.grants) as Grants };
}

export function writeGrants(sql: Sql, sid: number, { version, grants }: DeliveredGrants): void {
  sql.run(
    "insert or replace into delivered_grants values (?, ?, ?)",
    sid,
    version,
    JSON.stringify(grants),
  );
}

export function dropGrants(sql: Sql, sid: number): void {
  sql.run("delete from delivered_grants where sid = ?", sid);
}
