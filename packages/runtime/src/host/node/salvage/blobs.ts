// The blobs of a damaged store: copied where their bytes have the digest they are called by, for the sessions that
// their entries or the store itself name.

import type { Json } from "@lichen/wire";
import { putBlob } from "../../../log/blob.ts";
import type { Platform } from "../../../platform.ts";
import { eidRange } from "../../../store/keys.ts";
import type { Sql } from "../../../store/sql.ts";
import type { FoundRows } from "./found-rows.ts";

interface CopiedBlobs {
  readonly kept: number;
  readonly lost: number;
  readonly lostBySession: ReadonlyMap<number, number>;
}

interface Use {
  readonly mimeType: string;
  readonly bytes: number;
}

/** Copies what the sessions in `sql` use. */
export function copyBlobs(
  sql: Sql,
  found: FoundRows,
  platform: Pick<Platform, "sha256">,
): CopiedBlobs {
  const users = new Map<string, Map<number, Use>>();
  for (const { sid } of sql.all<{ sid: number }>("select sid from session where deleted < 2"))
    for (const [sha256, use] of usesOf(sql, found, sid)) {
      const sids = users.get(sha256) ?? new Map<number, Use>();
      users.set(sha256, sids.set(sid, use));
    }
  const lostBySession = new Map<number, number>();
  let kept = 0;
  for (const [sha256, sids] of users) {
    const bytes = wholeBlob(found, sha256, platform);
    if (bytes) kept++;
    sql.transact(() => {
      for (const [sid, { mimeType }] of sids)
        if (bytes) putBlob(sql, sid, sha256, mimeType, bytes);
        else lostBySession.set(sid, (lostBySession.get(sid) ?? 0) + 1);
    });
  }
  return { kept, lost: users.size - kept, lostBySession };
}

function wholeBlob(
  found: FoundRows,
  sha256: string,
  platform: Pick<Platform, "sha256">,
): Uint8Array | undefined {
  const bytes = Buffer.concat([...found.parts(sha256)]);
  return platform.sha256(bytes) === sha256 ? bytes : undefined;
}

function usesOf(sql: Sql, found: FoundRows, sid: number): Map<string, Use> {
  const uses = new Map<string, Use>(found.uses.get(sid));
  const { first, last } = eidRange(sid);
  for (let after = first; ;) {
    const rows = sql.all<{ eid: number; data: string }>(
      "select eid, data from entry where eid > ? and eid <= ? order by eid limit 100",
      after,
      last,
    );
    for (const { eid, data } of rows) {
      after = eid;
      if (data.includes('"blob"')) collect(JSON.parse(data) as Json, uses);
    }
    if (rows.length < 100) return uses;
  }
}

/** Every reference in an entry's data. */
function collect(value: Json, uses: Map<string, Use>): void {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) {
    const { blob, mimeType, bytes } = value;
    const isReference =
      typeof blob === "string" &&
      typeof mimeType === "string" &&
      typeof bytes === "number" &&
      /^[0-9a-f]{64}$/.test(blob);
    if (isReference) {
      if (!uses.has(blob)) uses.set(blob, { mimeType, bytes });
      return;
    }
  }
  for (const member of Object.values(value)) collect(member, uses);
}
