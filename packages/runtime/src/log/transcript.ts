// The transcript: the branch of the message tree that ends in the leaf, as an engine reads it.
//
//   L6  The transcript follows parents, also into the sessions that this one was forked from, and stops at the newest
//       compaction: that entry first, then what it kept, then what came after.
//   L7  Texts that were put aside as blobs are whole again in the transcript.

import type { JsonObject } from "@lichen/wire";
import type { TranscriptEntry } from "../engine/port.ts";
import { eidOf, eidRange, parseId, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { readBlob } from "./blob.ts";
import { entryRow, type EntryRow, toEntry } from "./entry-log.ts";
import { keyOf } from "./session-row.ts";
import { restore } from "./spill.ts";

const page = 128;

/** The branch that ends in `leaf`, oldest first; `newest`: no more than so many of its newest entries. */
export function transcript(
  sql: Sql,
  leaf: number | null,
  newest = Number.POSITIVE_INFINITY,
): TranscriptEntry[] {
  const keys = new Map<number, string>();
  const newestFirst: TranscriptEntry[] = [];
  let compaction: TranscriptEntry | undefined;
  let firstKept: string | undefined;
  for (const row of branch(sql, leaf)) {
    if (newestFirst.length >= newest) break;
    const entry = whole(sql, keys, row);
    if (entry.kind === "compaction" && !compaction) {
      compaction = entry;
      firstKept = entry.data.firstKept;
      if (firstKept === undefined) break;
      continue;
    }
    newestFirst.push(entry);
    if (firstKept !== undefined && entry.id === firstKept) break;
  }
  if (compaction) newestFirst.push(compaction);
  return newestFirst.reverse();
}

/** The rows from `leaf` up to the root, read in pages. */
function* branch(sql: Sql, leaf: number | null): Generator<EntryRow> {
  let wanted = leaf;
  let rows: EntryRow[] = [];
  let next = 0;
  while (wanted !== null) {
    while (next < rows.length && rows[next]!.eid > wanted) next++;
    if (rows[next]?.eid !== wanted) {
      rows = sql.all<EntryRow>(
        `select * from entry where eid <= ? and eid > ?
         and kind in ('message.user', 'message.assistant', 'message.tool', 'line', 'compaction')
         order by eid desc limit ?`,
        wanted,
        eidRange(sidOf(wanted)).first,
        page,
      );
      next = 0;
      if (rows[0]?.eid !== wanted) return;
    }
    const row: EntryRow = rows[next]!;
    yield row;
    wanted = row.parent;
  }
}

/** One entry of the transcript by its row key. */
export function transcriptEntry(sql: Sql, eid: number): TranscriptEntry {
  return whole(sql, new Map(), entryRow(sql, eid)!);
}

function whole(sql: Sql, keys: Map<number, string>, row: EntryRow): TranscriptEntry {
  const sid = sidOf(row.eid);
  let key = keys.get(sid);
  if (key === undefined) keys.set(sid, (key = keyOf(sql, sid)));
  const entry = toEntry(sql, key, row);
  const data = restore(entry.data, (sha256) => readBlob(sql, sha256)) as JsonObject;
  return { ...entry, data } as TranscriptEntry;
}

/** The row key behind an entry id whose session is known by its key. */
export function eidOfId(sql: Sql, id: string): number | undefined {
  const parsed = parseId("ent", id);
  if (!parsed) return undefined;
  const [row] = sql.all<{ sid: number }>("select sid from session where key = ?", parsed.key);
  return row && eidOf(row.sid, parsed.seq);
}
