// The lines of a coding agent that a run has recorded, whole again, for a driver that goes on after a crash.

import type { Json, JsonObject } from "@lichen/wire";
import { eidRange, seqOf, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { readBlob } from "./blob.ts";
import { restore } from "./spill.ts";

/** Oldest first; all of them, or so many of the newest. */
export function harnessLines(sql: Sql, cid: number, newest?: number): Json[] {
  return sql
    .all<{ data: string }>(
      `select data from entry where eid > ? and eid <= ? and kind = 'harness.line' and command = ?
       order by eid desc limit ?`,
      cid,
      eidRange(sidOf(cid)).last,
      seqOf(cid),
      newest ?? -1,
    )
    .toReversed()
    .map(({ data }) => {
      const whole = restore(JSON.parse(data) as JsonObject, (sha256) => readBlob(sql, sha256));
      return whole["line"] ?? null;
    });
}
