// Call rows: for each tool call of an assistant message, whether its intent and its outcome are in the log.
//
//   Q10  A call's intent is durable before its effect, its outcome when it ends.
//   Q11  Calls are keyed by assistant entry and index, since providers repeat their ids.

import type { Label } from "@lichen/wire";
import type { Sql } from "../store/sql.ts";

export interface CallRow {
  readonly assistant: number;
  readonly position: number;
  readonly cid: number;
  readonly label: Label;
  readonly replay_safe: number;
  /** Row key of `call.started`. */
  readonly started: number | null;
  /** Row key of `message.tool`. */
  readonly outcome: number | null;
}

export function callRow(sql: Sql, assistant: number, position: number): CallRow | undefined {
  return sql.all<CallRow>(
    "select * from call where assistant = ? and position = ?",
    assistant,
    position,
  )[0];
}

export function insertCall(sql: Sql, row: CallRow): void {
  sql.run(
    `insert into call values (?, ?, ?, ?, ?, ?, ?) on conflict do update set started = excluded.started,
     outcome = coalesce(excluded.outcome, outcome)`,
    row.assistant,
    row.position,
    row.cid,
    row.label,
    row.replay_safe,
    row.started,
    row.outcome,
  );
}

export function markOutcome(sql: Sql, assistant: number, position: number, outcome: number): void {
  sql.run(
    "update call set outcome = ? where assistant = ? and position = ?",
    outcome,
    assistant,
    position,
  );
}

/** Calls of a run with an intent and no outcome. */
export function openCalls(sql: Sql, cid: number): CallRow[] {
  return sql.all<CallRow>("select * from call where cid = ? and outcome is null", cid);
}
