// The schema: every table, its version, and what opening does with an older, newer or foreign store.
//
//   S20  A store of a newer schema is refused untouched.
//   S21  A store of every earlier schema opens, migrated in one transaction.

import { Fault } from "@lichen/wire";
import { capabilityTables } from "../capability/capability-tables.ts";
import { outsideIndex } from "../queue/command-table.ts";
import { blobTables } from "../log/blob.ts";
import { saidIndex, searchTables } from "../log/search.ts";
import { programTables } from "../run/program-table.ts";
import { grantTables } from "../session/grant-table.ts";
import { keptColumns } from "../session/agent-table.ts";
import { harnessTables } from "../session/harness-table.ts";
import type { Sql } from "./sql.ts";

/** The schema that this code writes. */
export const schemaVersion = 4;

const tables = [
  "create table meta (name text primary key, value text not null) without rowid",
  "create table owner (one integer primary key check (one = 1), generation integer not null)",
  "create table agent (aid integer primary key, name text not null unique, created_at integer not null)",
  `create table session (
    sid integer primary key, aid integer not null, id text not null, key text not null unique, epoch text not null,
    head integer not null, leaf integer, last_at integer not null, state text not null, info text not null,
    forked_from integer, forked_sid integer, tools text, deleted integer not null default 0)`,
  "create unique index session_by_id on session(aid, id) where deleted = 0",
  "create index session_by_activity on session(aid, last_at, sid) where deleted = 0",
  "create index session_newest on session(last_at, sid) where deleted = 0",
  "create index session_busy on session(aid, state) where deleted = 0 and state <> 'idle'",
  "create index session_forks on session(forked_sid) where forked_sid is not null",
  "create index session_deleted on session(deleted) where deleted = 1",
  `create table entry (
    eid integer primary key, at integer not null, kind text not null, command integer, request text, parent integer,
    author text, data text not null, meta text)`,
  `create table command (
    cid integer primary key, type text not null, state text not null, delivery text, request text, identity text,
    started integer, joined integer, cancelled integer, settled integer,
    recoveries integer not null default 0, drained integer not null default 0,
    calls integer not null default 0, usage text)`,
  "create index command_open on command(state, cid) where state <> 'settled'",
  "create index command_joined on command(joined) where state = 'joined'",
  `create table call (
    assistant integer not null, position integer not null, cid integer not null, label text not null,
    replay_safe integer not null, started integer, outcome integer, primary key (assistant, position)) without rowid`,
  "create index call_open on call(cid) where outcome is null",
  `create table approval (
    asked integer primary key, cid integer not null, name text not null, state text not null,
    expires_at integer not null, answer integer)`,
  "create index approval_by_name on approval(cid, name)",
  "create index approval_pending on approval(cid) where state = 'pending'",
  "create index approval_due on approval(expires_at) where state = 'pending'",
  `create table request (
    aid integer not null, session text not null, request text not null, sid integer, digest text not null,
    receipt text, primary key (aid, session, request)) without rowid`,
  "create index request_fence on request(aid, session) where receipt is null",
];

/** What each schema added to the one before it. */
const steps: readonly (readonly string[])[] = [
  [...tables, ...blobTables, ...searchTables],
  [...capabilityTables, ...programTables, ...grantTables],
  [...harnessTables, ...keptColumns, ...outsideIndex],
  saidIndex,
];

/** Makes or migrates the tables, in one transaction. Refuses a store of a newer schema untouched. */
export function openSchema(sql: Sql): void {
  const known = sql.all("select 1 from sqlite_master where type = 'table' and name = 'meta'");
  const [row] = known.length
    ? sql.all<{ value: string }>("select value from meta where name = 'schema'")
    : [];
  if (known.length && !row)
    throw new Fault("unreadable", "The store has no schema version: it is not a store of Lichen.");
  const version = row ? Number(row.value) : 0;
  if (version > schemaVersion)
    throw new Fault(
      "unreadable",
      `The store has schema ${version}, this Lichen reads up to ${schemaVersion}: update Lichen. The store was not touched.`,
    );
  if (version === schemaVersion) return;
  sql.transact(() => {
    for (const statement of steps.slice(version).flat()) sql.run(statement);
    if (version === 0) sql.run("insert into owner values (1, 0)");
    sql.run("insert or replace into meta values ('schema', ?)", String(schemaVersion));
  });
}

/** Takes the store over: from now on a writer of an earlier generation is `stale`. */
export function nextGeneration(sql: Sql): number {
  return sql.transact(() => {
    sql.run("update owner set generation = generation + 1");
    return generation(sql);
  });
}

export function generation(sql: Sql): number {
  return sql.all<{ generation: number }>("select generation from owner")[0]!.generation;
}
