// Request ids: what each one was first used for, for ever. One table holds receipts, fences and the digests that
// outlive a deleted session.
//
//   A2  The same request id and the same input replay the first receipt, also after a restart.
//   A3  Other input, or other metadata, under a used request id is a conflict and changes nothing.
//   A8  A withdrawn request id is refused for ever; so is one that a deleted session had admitted (`closed`).

import { Fault, type Receipt } from "@lichen/wire";
import type { Sql } from "../store/sql.ts";

export interface RequestKey {
  readonly aid: number;
  /** The session's name; the empty text for admissions of the agent itself. */
  readonly session: string;
  readonly request: string;
}

interface RequestRow {
  readonly sid: number | null;
  readonly digest: string;
  readonly receipt: string | null;
  readonly gone: number;
}

const fencesPerSession = 4_096;

function find(sql: Sql, key: RequestKey): RequestRow | undefined {
  return sql.all<RequestRow>(
    `select r.sid, r.digest, r.receipt, coalesce(s.deleted, 0) as gone
     from request r left join session s on s.sid = r.sid
     where r.aid = ? and r.session = ? and r.request = ?`,
    key.aid,
    key.session,
    key.request,
  )[0];
}

/** Whether the request id was used before, for whatever. */
export function isKnown(sql: Sql, key: RequestKey): boolean {
  return find(sql, key) !== undefined;
}

/** The first receipt, where this request was admitted with the same input; undefined for a new one. */
export function replayed(sql: Sql, key: RequestKey, digest: string): Receipt | undefined {
  const row = find(sql, key);
  if (!row) return undefined;
  if (row.receipt === null)
    throw new Fault(
      "withdrawn",
      `Request ${key.request} was withdrawn: send it again under a new request id.`,
    );
  if (row.digest !== digest)
    throw new Fault(
      "conflict",
      `Request ${key.request} was used with other input: take a new request id for new input.`,
    );
  if (row.gone !== 0)
    throw new Fault(
      "closed",
      `Request ${key.request} was admitted by a session ${key.session} that is deleted.`,
    );
  return { ...(JSON.parse(row.receipt) as Receipt), replay: true };
}

export function record(
  sql: Sql,
  key: RequestKey,
  sid: number | null,
  digest: string,
  receipt: Receipt,
): void {
  sql.run(
    "insert into request values (?, ?, ?, ?, ?, ?)",
    key.aid,
    key.session,
    key.request,
    sid,
    digest,
    JSON.stringify(receipt),
  );
}

/** The admission that stands under this key, or undefined after writing a fence that refuses every later one. */
export function fence(sql: Sql, key: RequestKey): Receipt | undefined {
  const row = find(sql, key);
  if (row?.receipt) return JSON.parse(row.receipt) as Receipt;
  if (row) return undefined;
  const [count] = sql.all<{ n: number }>(
    "select count(*) as n from request indexed by request_fence where aid = ? and session = ? and receipt is null",
    key.aid,
    key.session,
  );
  if (count!.n >= fencesPerSession)
    throw new Fault(
      "capacity",
      `Session ${key.session} holds ${fencesPerSession} withdrawn request ids, the most it keeps: use another session.`,
      { retryable: false },
    );
  sql.run(
    "insert into request values (?, ?, ?, null, '', null)",
    key.aid,
    key.session,
    key.request,
  );
  return undefined;
}
