// Blobs: bytes too large for a row, kept once by their digest, in parts.
//
//   A blob is stored whole or not at all: its first part is there if and only if all of them are.
//   `blob_use` says which session may read a blob; bytes that no session uses are deleted.

import type { Sql } from "../store/sql.ts";

export const partBytes = 524_288;

export const blobTables: readonly string[] = [
  `create table if not exists blob (
    sha256 text not null, part integer not null, bytes blob not null, primary key (sha256, part)
  ) strict`,
  `create table if not exists blob_use (
    sid integer not null, sha256 text not null, mime_type text not null, bytes integer not null,
    primary key (sid, sha256)
  ) strict, without rowid`,
  `create index if not exists blob_use_sha256 on blob_use (sha256)`,
];

export interface BlobUse {
  readonly mimeType: string;
  readonly bytes: number;
}

/** Stores the bytes unless they are there, and lets the session read them. Part of the transaction of the entry that refers to them. */
export function putBlob(
  sql: Sql,
  sid: number,
  sha256: string,
  mimeType: string,
  bytes: Uint8Array,
): void {
  sql.transact(() => {
    if (!hasBlob(sql, sha256))
      for (let part = 0; part === 0 || part * partBytes < bytes.length; part++)
        putBlobPart(sql, sha256, part, bytes.subarray(part * partBytes, (part + 1) * partBytes));
    useBlob(sql, sid, sha256, mimeType, bytes.length);
  });
}

/** Whether all of it is stored. */
export function hasBlob(sql: Sql, sha256: string): boolean {
  return sql.all("select 1 from blob where sha256 = ? and part = 0", sha256).length > 0;
}

/** One part of a blob that is put in several transactions: the first part in the last of them, where the others are there. */
export function putBlobPart(sql: Sql, sha256: string, part: number, bytes: Uint8Array): void {
  sql.run("insert or ignore into blob (sha256, part, bytes) values (?, ?, ?)", sha256, part, bytes);
}

/** Lets a session read a blob. Its first media type stays. */
export function useBlob(
  sql: Sql,
  sid: number,
  sha256: string,
  mimeType: string,
  bytes: number,
): void {
  sql.run(
    "insert or ignore into blob_use (sid, sha256, mime_type, bytes) values (?, ?, ?, ?)",
    sid,
    sha256,
    mimeType,
    bytes,
  );
}

/** What the session knows the blob as; undefined where it may not read it. */
export function findBlobUse(sql: Sql, sid: number, sha256: string): BlobUse | undefined {
  return sql.all<BlobUse>(
    "select mime_type as mimeType, bytes from blob_use where sid = ? and sha256 = ?",
    sid,
    sha256,
  )[0];
}

/** The bytes, or the first parts that hold `atMost` of them; undefined where none are stored. Who may read is the caller's question. */
export function readBlob(sql: Sql, sha256: string, atMost?: number): Uint8Array | undefined {
  const parts = sql.all<{ part: number; bytes: Uint8Array }>(
    "select part, bytes from blob where sha256 = ? and part < ? order by part",
    sha256,
    atMost === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, Math.ceil(atMost / partBytes)),
  );
  const [first] = parts;
  // Of one that is on its way other parts may be there.
  if (first?.part !== 0) return undefined;
  const whole = parts.length === 1 ? first.bytes : joined(parts.map((part) => part.bytes));
  return atMost === undefined || whole.length <= atMost ? whole : whole.subarray(0, atMost);
}

/** One of its parts, of half a mebibyte each but the last; undefined past its end. */
export function readBlobPart(sql: Sql, sha256: string, part: number): Uint8Array | undefined {
  return sql.all<{ bytes: Uint8Array }>(
    "select bytes from blob where sha256 = ? and part = ?",
    sha256,
    part,
  )[0]?.bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * One slice of forgetting a session's blobs: at most `budget` steps (a use, or half a MiB of bytes that nobody else
 * uses). Answers whether more is left.
 */
export function dropSessionBlobs(sql: Sql, sid: number, budget: number = 8): boolean {
  return sql.transact(() => {
    let left = budget;
    for (const { sha256 } of sql.all<{ sha256: string }>(
      "select sha256 from blob_use where sid = ? limit ?",
      sid,
      budget,
    )) {
      if (left <= 0) return true;
      if (!isUsedElsewhere(sql, sid, sha256)) {
        // From the first part on, so that a blob half gone counts as not stored and is written anew if it comes again.
        const parts = sql.all<{ part: number }>(
          "select part from blob where sha256 = ? order by part limit ?",
          sha256,
          left,
        );
        for (const { part } of parts)
          sql.run("delete from blob where sha256 = ? and part = ?", sha256, part);
        left -= parts.length;
        if (left <= 0) return true;
      }
      sql.run("delete from blob_use where sid = ? and sha256 = ?", sid, sha256);
      left--;
    }
    return sql.all("select 1 from blob_use where sid = ? limit 1", sid).length > 0;
  });
}

function isUsedElsewhere(sql: Sql, sid: number, sha256: string): boolean {
  return (
    sql.all("select 1 from blob_use where sha256 = ? and sid <> ? limit 1", sha256, sid).length > 0
  );
}
