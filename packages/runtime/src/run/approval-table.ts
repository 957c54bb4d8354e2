// Approval rows: each durable question to a person, its state and, once answered, the answer's entry.
//
//   P1  An approval is decided once; a later answer is `too_late`.

import type { EntryData, JsonObject } from "@lichen/wire";
import { readBlob } from "../log/blob.ts";
import { entryRow } from "../log/entry-log.ts";
import { restore } from "../log/spill.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { eidRange, idOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";

export interface ApprovalRow {
  /** Row key of `approval.asked`. */
  readonly asked: number;
  readonly cid: number;
  /** The engine's own key for it within the run. */
  readonly name: string;
  readonly state: "pending" | "allowed" | "denied" | "withdrawn" | "expired";
  readonly expires_at: number;
  /** Row key of `approval.answered`. */
  readonly answer: number | null;
}

export function insertApproval(sql: Sql, row: Omit<ApprovalRow, "state" | "answer">): void {
  sql.run(
    "insert into approval values (?, ?, ?, 'pending', ?, null)",
    row.asked,
    row.cid,
    row.name,
    row.expires_at,
  );
}

export function approvalRow(sql: Sql, asked: number): ApprovalRow | undefined {
  return sql.all<ApprovalRow>("select * from approval where asked = ?", asked)[0];
}

/** The newest approval that a run asked under this name. */
export function approvalNamed(sql: Sql, cid: number, name: string): ApprovalRow | undefined {
  return sql.all<ApprovalRow>(
    "select * from approval where cid = ? and name = ? order by asked desc limit 1",
    cid,
    name,
  )[0];
}

interface AskedAbout {
  /** Of its input or questions. */
  readonly digest: string;
  readonly kind: EntryData["approval.asked"]["kind"];
  readonly tool: string | null;
  readonly prompt: string | null;
}

/** What was asked, in short. */
export function askedAbout(sql: Sql, asked: number): AskedAbout {
  return sql.all<AskedAbout>(
    `select json_extract(data, '$.digest') as digest, json_extract(data, '$.kind') as kind,
       json_extract(data, '$.tool') as tool, json_extract(data, '$.prompt') as prompt
     from entry where eid = ?`,
    asked,
  )[0]!;
}

/** Whether a call of the run itself waits for a person. */
export function isAskedAbout(
  sql: Sql,
  cid: number,
  { assistant, index }: { readonly assistant: string; readonly index: number },
): boolean {
  const [found] = sql.all(
    `select 1 from approval a join entry e on e.eid = a.asked
     where a.cid = ? and a.state = 'pending' and json_extract(e.data, '$.assistant') = ?
       and json_extract(e.data, '$.index') = ? and json_extract(e.data, '$.ordinal') is null limit 1`,
    cid,
    assistant,
    index,
  );
  return found !== undefined;
}

/** What was asked, with its texts whole. */
export function wholeAsked(sql: Sql, asked: number): EntryData["approval.asked"] {
  const stored = JSON.parse(entryRow(sql, asked)!.data) as JsonObject;
  return restore(stored, (sha256) => readBlob(sql, sha256)) as EntryData["approval.asked"];
}

/** The calls of a program that a person was asked about: those whose names are `prefix` and their ordinal. */
export function askedCalls(
  sql: Sql,
  cid: number,
  prefix: string,
): { readonly ordinal: number; readonly operation: string }[] {
  const asked = sql.all<{ name: string; tool: string | null }>(
    `select a.name, json_extract(e.data, '$.tool') as tool from approval a join entry e on e.eid = a.asked
     where a.cid = ? and a.name between ? and ?`,
    cid,
    `${prefix}0`,
    `${prefix}:`,
  );
  return asked.flatMap(({ name, tool }) => {
    const ordinal = name.slice(prefix.length);
    return tool !== null && /^\d+$/.test(ordinal)
      ? [{ ordinal: Number(ordinal), operation: tool }]
      : [];
  });
}

export function pendingApprovals(sql: Sql, cid: number): ApprovalRow[] {
  return sql.all<ApprovalRow>(
    "select * from approval where cid = ? and state = 'pending' order by asked",
    cid,
  );
}

/** Pending approvals of a session, oldest first. */
export function pendingInSession(sql: Sql, sid: number): ApprovalRow[] {
  const { first, last } = eidRange(sid);
  return sql.all<ApprovalRow>(
    "select * from approval where state = 'pending' and cid between ? and ? order by asked",
    first,
    last,
  );
}

export function decideApproval(
  sql: Sql,
  asked: number,
  state: ApprovalRow["state"],
  answer: number | null,
): void {
  sql.run("update approval set state = ?, answer = ? where asked = ?", state, answer, asked);
}

/** How entries name an approval: by our id, and by the harness's own where it has one. */
export function namedIn(
  sql: Sql,
  session: SessionWriter,
  asked: number,
): { readonly approvalId: string; readonly prompt?: string } {
  const { prompt } = askedAbout(sql, asked);
  const approvalId = idOf("apr", session.row.key, seqOf(asked));
  return { approvalId, ...(prompt === null ? {} : { prompt }) };
}

export interface Withdrawal {
  readonly reason: string;
  /** The same is asked under another approval: to people it goes on. */
  readonly isAskedAgain?: boolean;
}

export function writeWithdrawn(
  sql: Sql,
  session: SessionWriter,
  { asked, cid }: Pick<ApprovalRow, "asked" | "cid">,
  { reason, isAskedAgain }: Withdrawal,
): void {
  const { approvalId, ...named } = namedIn(sql, session, asked);
  session.append({
    kind: "approval.withdrawn",
    command: seqOf(cid),
    data: { approvalId, ...(isAskedAgain ? {} : named), reason },
  });
  decideApproval(sql, asked, "withdrawn", null);
}

export function earliestDue(sql: Sql): number | undefined {
  const [row] = sql.all<{ due: number | null }>(
    "select min(expires_at) as due from approval where state = 'pending'",
  );
  return row?.due ?? undefined;
}

export function dueApprovals(sql: Sql, at: number, limit: number): ApprovalRow[] {
  return sql.all<ApprovalRow>(
    "select * from approval where state = 'pending' and expires_at <= ? order by expires_at limit ?",
    at,
    limit,
  );
}

export function answerOf(sql: Sql, row: ApprovalRow): EntryData["approval.answered"] | undefined {
  if (row.answer === null) return undefined;
  const entry = entryRow(sql, row.answer);
  if (!entry) return undefined;
  const stored = JSON.parse(entry.data) as JsonObject;
  return restore(stored, (sha256) => readBlob(sql, sha256)) as EntryData["approval.answered"];
}
