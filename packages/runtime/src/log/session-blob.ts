// A session's blobs, its own and those of the sessions it was forked from. A hash alone opens nothing.

import type { Sql } from "../store/sql.ts";
import { findBlobUse, readBlob } from "./blob.ts";
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
