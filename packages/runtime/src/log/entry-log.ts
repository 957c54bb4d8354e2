// Reading the log: entries by range, the newest ones, and one by its id.

import { baselineBytes, bounded, type Entry, Fault, type JsonObject } from "@lichen/wire";
import { instant } from "../store/ground.ts";
import { eidOf, eidRange, idOf, parseId, seqOf, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { keyOf } from "./session-row.ts";

const pageRows = 50;

export interface EntryRow {
  readonly eid: number;
  readonly at: number;
  readonly kind: string;
  readonly command: number | null;
  readonly request: string | null;
  readonly parent: number | null;
  readonly author: string | null;
  readonly data: string;
  readonly meta: string | null;
}

/** The row as it crosses the process. `key` is the session's own. */
export function toEntry(sql: Sql, key: string, row: EntryRow): Entry {
  const seq = seqOf(row.eid);
  return {
    seq,
    id: idOf("ent", key, seq),
    at: instant(row.at),
    kind: row.kind,
    ...(row.command === null ? {} : { commandId: idOf("cmd", key, row.command) }),
    ...(row.request === null ? {} : { requestId: row.request }),
    ...(row.parent === null ? {} : { parent: parentId(sql, key, row) }),
    ...(row.author === null ? {} : { by: row.author }),
    data: JSON.parse(row.data) as JsonObject,
    ...(row.meta === null ? {} : { meta: JSON.parse(row.meta) as JsonObject }),
  };
}

function parentId(sql: Sql, key: string, row: EntryRow): string {
  const parent = row.parent!;
  const own = sidOf(parent) === sidOf(row.eid);
  return idOf("ent", own ? key : keyOf(sql, sidOf(parent)), seqOf(parent));
}

interface Place {
  readonly sid: number;
  readonly key: string;
}

/** Up to `limit` entries after `seq`, oldest first. */
export function entriesAfter(sql: Sql, { sid, key }: Place, seq: number, limit: number): Entry[] {
  return sql
    .all<EntryRow>(
      "select * from entry where eid > ? and eid <= ? order by eid limit ?",
      eidOf(sid, seq),
      eidRange(sid).last,
      limit,
    )
    .map((row) => toEntry(sql, key, row));
}

/** The newest entries below `before` that fit in `limit` and 1 MiB, oldest first. */
export function newestEntries(
  sql: Sql,
  { sid, key }: Place,
  limit: number,
  before?: number,
): { entries: Entry[]; more: boolean } {
  const { first, last } = eidRange(sid);
  const rows: EntryRow[] = [];
  let below = before === undefined ? last + 1 : Math.min(eidOf(sid, before), last + 1);
  let units = 0;
  // Large rows are not read for nothing: no UTF-16 unit is shorter than a byte.
  while (rows.length < limit && units <= baselineBytes) {
    const wanted = Math.min(limit - rows.length, pageRows);
    const page = sql.all<EntryRow>(
      "select * from entry where eid > ? and eid < ? order by eid desc limit ?",
      first,
      below,
      wanted,
    );
    rows.push(...page);
    for (const row of page) units += row.data.length;
    if (page.length < wanted) break;
    below = page.at(-1)!.eid;
  }
  const entries = rows.reverse().map((row) => toEntry(sql, key, row));
  return bounded(entries, (entries[0]?.seq ?? 1) > 1, limit);
}

export function entryRow(sql: Sql, eid: number): EntryRow | undefined {
  return sql.all<EntryRow>("select * from entry where eid = ?", eid)[0];
}

/** The metadata of the entry at `eid`. */
export function metaOf(sql: Sql, eid: number): JsonObject | undefined {
  const [row] = sql.all<{ meta: string | null }>("select meta from entry where eid = ?", eid);
  return row?.meta ? (JSON.parse(row.meta) as JsonObject) : undefined;
}

/** The row key of an entry that stands in this session or in one that it was forked from. */
export function resolveEntry(sql: Sql, place: Place, id: string): EntryRow {
  const parsed = parseId("ent", id);
  if (parsed) {
    for (const { sid, key, upTo } of lineage(sql, place)) {
      if (key !== parsed.key || parsed.seq > upTo) continue;
      const row = entryRow(sql, eidOf(sid, parsed.seq));
      if (row) return row;
    }
  }
  throw new Fault(
    "unknown_entry",
    `There is no entry ${id} in this session: take an id that it shows.`,
  );
}

/** The session and those it was forked from, each with the last `seq` that is shared. */
export function* lineage(sql: Sql, place: Place): Generator<Place & { upTo: number }> {
  let sid = place.sid;
  let upTo = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const [row] = sql.all<{ key: string; forked_from: number | null }>(
      "select key, forked_from from session where sid = ?",
      sid,
    );
    if (!row) return;
    yield { sid, key: row.key, upTo };
    if (row.forked_from === null) return;
    sid = sidOf(row.forked_from);
    upTo = seqOf(row.forked_from);
  }
}
