// A session's blobs, its own and those of the sessions it was forked from. A hash alone opens nothing.

import type { Sql } from "../store/sql.ts";
import { findBlobUse, hasBlob, readBlob, readBlobPart } from "./blob.ts";
import { lineage } from "./entry-log.ts";

export function sessionBlob(
  sql: Sql,
  place: { readonly sid: number; readonly key: string },
  sha256: string,
): { bytes: Uint8Array; mimeType: string } | undefined {
  for (const { sid } of lineage(sql, place)) {
    const use = findBlobUse(sql, sid, sha256);
    const bytes = use && readBlob(sql, sha256);
    if (bytes) return { bytes, mimeType: use.mimeType };
  }
  return undefined;
}

/** One of its parts; undefined past its end. */
export function sessionBlobPart(
  sql: Sql,
  place: { readonly sid: number; readonly key: string },
  sha256: string,
  part: number,
): Uint8Array | undefined {
  for (const { sid } of lineage(sql, place))
    if (findBlobUse(sql, sid, sha256) && hasBlob(sql, sha256))
      return readBlobPart(sql, sha256, part);
  return undefined;
}
