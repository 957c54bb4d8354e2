// Tables of coding-agent sessions: what the log says of the harness now, and the numbers of the machine API's events.
//
//   RH1  The state is the newest word of the log, the same after a restart; a new conversation has none yet.
//   RH2  Events are numbered 1, 2, 3… without a gap, exactly those of `isMachineEvent`, in the entry's transaction.

import type { EntryData, Kind } from "@lichen/wire";
import type { HarnessState } from "../engine/port.ts";
import type { EntryRow } from "../log/entry-log.ts";
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
        ...(named.ownModel === undefined ? {} : { ownModel: named.ownModel }),
      },
    }),
    ...(process && { process }),
  };
}

/** What an entry says of the harness, into the table. */
export function noteHarness(sql: Sql, sid: number, kind: Kind, data: unknown): void {
  if (kind === "harness.conversation") write(sql, sid, "conversation", JSON.stringify(data));
  else if (kind === "harness.process") write(sql, sid, "process", JSON.stringify(data));
  else if (kind === "harness.stopped") write(sql, sid, "process", null);
  else if (kind === "conversation.started")
    sql.run("update harness set conversation = null where sid = ?", sid);
}

function write(
  sql: Sql,
  sid: number,
  column: "conversation" | "process",
  value: string | null,
): void {
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

/** Entries that are events after number `after`, in order. */
export function eventsAfter(
  sql: Sql,
  sid: number,
  after: number,
  limit: number,
): (EntryRow & { readonly n: number })[] {
  return sql.all(
    `select event.n, entry.* from event join entry on entry.eid = event.eid
     where event.sid = ? and event.n > ? order by event.n limit ?`,
    sid,
    after,
    limit,
  );
}

/** How many events the session has up to the entry at `eid`; of `events` in all, and `behind` entries after that one. */
export function eventsUpTo(
  sql: Sql,
  sid: number,
  eid: number,
  { events, behind }: { readonly events: number; readonly behind: number },
): number {
  const [row] = sql.all<{ n: number }>(
    "select n from event where sid = ? and n >= ? and eid <= ? order by n desc limit 1",
    sid,
    events - behind,
    eid,
  );
  return row?.n ?? 0;
}

/** The number of the newest event up to the entry at `eid`, of `events` in all; 0 where there is none. */
export function eventNumberAt(sql: Sql, sid: number, eid: number, events: number): number {
  // Numbers and entries rise together: about log2 of them are looked at.
  let [least, most] = [0, events];
  while (least < most) {
    const n = Math.ceil((least + most) / 2);
    const [event] = sql.all<{ eid: number }>(
      "select eid from event where sid = ? and n = ?",
      sid,
      n,
    );
    if (event !== undefined && event.eid <= eid) least = n;
    else most = n - 1;
  }
  return least;
}

/** One slice of forgetting a session's numbers; false when there are none left. */
export function dropEvents(sql: Sql, sid: number, budget: number): boolean {
  return (
    sql.all(
      `delete from event where (sid, n) in (select sid, n from event where sid = ? limit ${budget}) returning 1`,
      sid,
    ).length > 0
  );
}

export function dropHarness(sql: Sql, sid: number): void {
  sql.run("delete from harness where sid = ?", sid);
}
