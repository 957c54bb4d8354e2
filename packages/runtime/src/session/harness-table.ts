// Tables of coding-agent sessions: what the log says of the harness now, and the numbers of the machine API's events.
//
//   RH1  The state is the newest word of the log, the same after a restart; a new conversation has none yet.
//   RH2  Events are numbered 1, 2, 3… without a gap, exactly the kinds of `machineEvents`, in the entry's transaction.

import type { EntryData, Kind } from "@lichen/wire";
import type { HarnessState } from "../engine/port.ts";
import type { Sql } from "../store/sql.ts";

export const harnessTables: readonly string[] = [
  "create table harness (sid integer primary key, conversation text, process text)",
  "create table event (sid integer not null, n integer not null, eid integer not null, primary key (sid, n)) without rowid",
];

export function harnessState(sql: Sql, sid: number): HarnessState {
  const [row] = sql.all<{ conversation: string | null; process: string | null }>(
    "select conversation, process from harness where sid = ?",
    sid,
  );
  const named = parsedOr<EntryData["harness.conversation"]>(row?.conversation);
  const process = parsedOr<EntryData["harness.process"]>(row?.process);
  return {
    ...(named && {
      conversation: {
        id: named.conversation,
        ...(named.file === undefined ? {} : { file: named.file }),
      },
    }),
    ...(process && { process }),
  };
}

/** What an entry says of the harness, into the table. */
export function noteHarness(sql: Sql, sid: number, kind: Kind, data: unknown): void {
  switch (kind) {
    case "harness.conversation":
      return write(sql, sid, "conversation", JSON.stringify(data));
    case "conversation.started":
      sql.run("update harness set conversation = null where sid = ?", sid);
      return;
    case "harness.process":
      return write(sql, sid, "process", JSON.stringify(data));
    case "harness.stopped":
      return write(sql, sid, "process", null);
    default:
  }
}

function write(sql: Sql, sid: number, column: "conversation" | "process", value: string | null) {
  sql.run(
    `insert into harness (sid, ${column}) values (?, ?) on conflict (sid) do update set ${column} = excluded.${column}`,
    sid,
    value,
  );
}

function parsedOr<T>(text: string | null | undefined): T | undefined {
  return text === null || text === undefined ? undefined : (JSON.parse(text) as T);
}

export function insertEvent(sql: Sql, sid: number, n: number, eid: number): void {
  sql.run("insert into event values (?, ?, ?)", sid, n, eid);
}

/** The row keys of events after number `after`, in order. */
export function eventsAfter(
  sql: Sql,
  sid: number,
  after: number,
  limit: number,
): { n: number; eid: number }[] {
  return sql.all(
    "select n, eid from event where sid = ? and n > ? order by n limit ?",
    sid,
    after,
    limit,
  );
}

export function dropHarness(sql: Sql, sid: number): void {
  sql.run("delete from harness where sid = ?", sid);
  sql.run("delete from event where sid = ?", sid);
}
