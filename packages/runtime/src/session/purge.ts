// Purging: what a deleted session wrote leaves the store in slices of a few milliseconds, once no fork needs it.
//
// A tombstone stays: the session's row and its request ids, so that a late retry is still answered `closed`.

import { dropSessionBlobs } from "../log/blob.ts";
import { dropSession } from "../log/search.ts";
import type { Ground } from "../store/ground.ts";
import { eidRange } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { buriedAgents } from "./agent-table.ts";
import { dropGrants } from "./grant-table.ts";
import { dropEvents, dropHarness } from "./harness-table.ts";

const rowsPerSlice = 200;
/** Of half a MiB each. */
const partsPerSlice = 4;

/** Purges one slice of one deleted session; false when there is nothing left to do. */
export function purgeSlice({ sql }: Ground): boolean {
  for (const { sid } of deletedUnneeded(sql)) {
    if (dropSession(sql, sid)) return true;
    if (dropSessionBlobs(sql, sid)) return true;
    if (dropEvents(sql, sid, rowsPerSlice)) return true;
    if (dropRows(sql, sid)) return true;
    dropGrants(sql, sid);
    dropHarness(sql, sid);
    sql.run("update session set deleted = 2 where sid = ?", sid);
    return true;
  }
  return dropRequests(sql);
}

/** Request ids of removed agents: nobody can send one again. */
function dropRequests(sql: Sql): boolean {
  return buriedAgents(sql).some(
    (aid) =>
      sql.all(
        `delete from request where (aid, session, request) in
         (select aid, session, request from request where aid = ? limit ${rowsPerSlice}) returning 1`,
        aid,
      ).length > 0,
  );
}

/** Deleted sessions that no session which is still to be seen, and no deleted one that still has rows, was forked from. */
function deletedUnneeded(sql: Sql): { sid: number }[] {
  return sql.all<{ sid: number }>(
    `select sid from session s where deleted = 1 and not exists
     (select 1 from session f where f.forked_sid = s.sid and f.deleted < 2) order by sid limit 1`,
  );
}

function dropRows(sql: Sql, sid: number): boolean {
  const { first, last } = eidRange(sid);
  const statements = [
    `delete from program_snapshot where rowid in
     (select rowid from program_snapshot where assistant between ? and ? limit ${partsPerSlice})`,
    `delete from program_call where (assistant, position, ordinal) in
     (select assistant, position, ordinal from program_call where assistant between ? and ? limit ${rowsPerSlice})`,
    `delete from program where (assistant, position) in
     (select assistant, position from program where assistant between ? and ? limit ${rowsPerSlice})`,
    `delete from call where (assistant, position) in
     (select assistant, position from call where assistant between ? and ? limit ${rowsPerSlice})`,
    `delete from approval where asked in
     (select asked from approval where asked between ? and ? limit ${rowsPerSlice})`,
    `delete from command where cid in
     (select cid from command where cid between ? and ? limit ${rowsPerSlice})`,
    `delete from entry where eid in
     (select eid from entry where eid between ? and ? limit ${rowsPerSlice})`,
  ];
  return statements.some(
    (statement) => sql.all(`${statement} returning 1`, first, last).length > 0,
  );
}
