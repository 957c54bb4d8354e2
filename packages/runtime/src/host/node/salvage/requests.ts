// The request ids of a damaged store. Each stays used: one whose command is lost, or whose row is, is refused rather
// than done again.

import type { Receipt } from "@lichen/wire";
import { eidOf, idOf, parseId, seqOf } from "../../../store/keys.ts";
import type { Sql } from "../../../store/sql.ts";
import { type FoundRequest, type FoundRows, requestKey } from "./found-rows.ts";
import type { Identities } from "./identities.ts";

/** Copies them; `kept` says how far each session's log was copied. */
export function copyRequests(
  sql: Sql,
  found: FoundRows,
  identities: Identities,
  kept: ReadonlyMap<number, number>,
): { kept: number; refused: number } {
  let refused = 0;
  for (const row of found.requests.values()) {
    const isLost = row.receipt !== null && isGone(row, identities, kept);
    if (isLost) refused++;
    insert(sql, isLost ? { ...row, receipt: null } : row);
  }
  for (const [sid, last] of kept) {
    const { aid, key, info, deleted } = identities.of(sid);
    if (deleted !== 0) continue;
    for (const { eid, kind, request } of admitted(sql, sid, last)) {
      const row = { aid, session: info.session, request, sid, digest: "lost" };
      if (found.requests.has(requestKey(row))) continue;
      const id = idOf(kind === "line" ? "ent" : "cmd", key, seqOf(eid));
      const receipt: Receipt = {
        status: "accepted",
        ...(kind === "line" ? { entryId: id } : { commandId: id }),
      };
      // No digest is this text: what is sent again under this id is other input, for all that is known.
      insert(sql, { ...row, receipt: JSON.stringify(receipt) });
      refused++;
    }
  }
  return { kept: found.requests.size, refused };
}

function isGone(
  row: FoundRequest,
  identities: Identities,
  kept: ReadonlyMap<number, number>,
): boolean {
  if (row.sid === null) return false;
  if (!kept.has(row.sid)) return true;
  if (identities.of(row.sid).deleted !== 0) return false;
  const { commandId, entryId } = JSON.parse(row.receipt ?? "{}") as Receipt;
  const at = parseId("cmd", commandId ?? "") ?? parseId("ent", entryId ?? "");
  return at !== undefined && at.seq > (kept.get(row.sid) ?? 0);
}

function admitted(
  sql: Sql,
  sid: number,
  last: number,
): { eid: number; kind: string; request: string }[] {
  return sql.all(
    `select eid, kind, request from entry where eid > ? and eid <= ? and request is not null
     and kind in ('command.queued', 'line') order by eid`,
    eidOf(sid, 0),
    eidOf(sid, last),
  );
}

function insert(sql: Sql, row: FoundRequest): void {
  sql.run(
    "insert or ignore into request values (?, ?, ?, ?, ?, ?)",
    row.aid,
    row.session,
    row.request,
    row.sid,
    row.digest,
    row.receipt,
  );
}
