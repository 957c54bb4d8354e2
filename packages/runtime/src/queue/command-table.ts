// Command rows: where each admitted command stands between admission and settlement.
//
//   Q1  A session has at most one running command.
//   Q2  Commands of a session are claimed in the order of their admission; what nobody admitted comes first (RH6).

import { addUsage, noUsage, type Usage, type WorkType } from "@lichen/wire";
import { eidRange } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";

/** A partial index is used only where a query says its condition word for word. */
const isOpen = "state <> 'settled'";

export interface CommandRow {
  /** Row key of the entry `command.queued`; its `seq` is the number in the command's id. */
  readonly cid: number;
  readonly type: WorkType;
  readonly state: "queued" | "running" | "joined" | "settled";
  readonly delivery: "follow_up" | "steer" | "reject" | null;
  readonly request: string | null;
  /** The principal who was bound when it was admitted. */
  readonly identity: string | null;
  /** Row key of `run.started`. */
  readonly started: number | null;
  /** The running command whose run this steer joined. */
  readonly joined: number | null;
  /** Row key of `command.cancelled`: a recorded intent. */
  readonly cancelled: number | null;
  /** Row key of `run.settled`. */
  readonly settled: number | null;
  readonly recoveries: number;
  readonly drained: number;
  readonly calls: number;
  readonly usage: string | null;
}

/** What schema 3 added: the few commands that nobody admitted are found beside a long queue. */
export const outsideIndex: readonly string[] = [
  "create index command_outside on command(cid) where type = 'outside' and state = 'queued'",
];

export function insertCommand(
  sql: Sql,
  row: Pick<CommandRow, "cid" | "type" | "delivery" | "request" | "identity">,
): void {
  sql.run(
    "insert into command (cid, type, state, delivery, request, identity) values (?, ?, 'queued', ?, ?, ?)",
    row.cid,
    row.type,
    row.delivery,
    row.request,
    row.identity,
  );
}

export function commandRow(sql: Sql, cid: number): CommandRow | undefined {
  return sql.all<CommandRow>("select * from command where cid = ?", cid)[0];
}

export function runningCommand(sql: Sql, sid: number): CommandRow | undefined {
  const { first, last } = eidRange(sid);
  return sql.all<CommandRow>(
    `select * from command where ${isOpen} and state = 'running' and cid between ? and ? limit 1`,
    first,
    last,
  )[0];
}

/** Queued commands of a session, oldest first. */
export function queuedCommands(sql: Sql, sid: number, limit = 1_000): CommandRow[] {
  const { first, last } = eidRange(sid);
  return sql.all<CommandRow>(
    `select * from command where ${isOpen} and state = 'queued' and cid between ? and ? order by cid limit ?`,
    first,
    last,
    limit,
  );
}

/** The oldest queued command that nobody admitted. */
export function queuedOutside(sql: Sql, sid: number): CommandRow | undefined {
  const { first, last } = eidRange(sid);
  return sql.all<CommandRow>(
    `select * from command where type = 'outside' and state = 'queued' and cid between ? and ?
     order by cid limit 1`,
    first,
    last,
  )[0];
}

/** What runs next of the `pending` commands that are queued: what nobody admitted, else the oldest. */
export function nextCommand(sql: Sql, sid: number, pending: number): CommandRow | undefined {
  const outside = pending > 1 ? queuedOutside(sql, sid) : undefined;
  return outside ?? queuedCommands(sql, sid, 1)[0];
}

export function joinedCommands(sql: Sql, cid: number): CommandRow[] {
  return sql.all<CommandRow>(
    "select * from command where state = 'joined' and joined = ? order by cid",
    cid,
  );
}

export function markRunning(sql: Sql, cid: number, started: number): void {
  sql.run("update command set state = 'running', started = ? where cid = ?", started, cid);
}

export function markJoined(sql: Sql, cid: number, run: number): void {
  sql.run("update command set state = 'joined', joined = ? where cid = ?", run, cid);
}

export function markCancelled(sql: Sql, cid: number, cancelled: number): void {
  sql.run("update command set cancelled = ? where cid = ?", cancelled, cid);
}

export function markSettled(sql: Sql, cid: number, settled: number): void {
  sql.run("update command set state = 'settled', settled = ? where cid = ?", settled, cid);
}

/** What a committed step of a run does to its row: the budget of recoveries starts anew. */
export function countStep(sql: Sql, cid: number, step: { calls: number; usage: Usage }): void {
  const [row] = sql.all<{ usage: string | null }>("select usage from command where cid = ?", cid);
  sql.run(
    "update command set recoveries = 0, calls = calls + ?, usage = ? where cid = ?",
    step.calls,
    JSON.stringify(addUsage(usageOf(row ?? { usage: null }), step.usage)),
    cid,
  );
}

/** Usage that stands in no entry: no step of the run. */
export function countUsage(sql: Sql, cid: number, usage: Usage): void {
  const [row] = sql.all<{ usage: string | null }>("select usage from command where cid = ?", cid);
  sql.run(
    "update command set usage = ? where cid = ?",
    JSON.stringify(addUsage(usageOf(row ?? { usage: null }), usage)),
    cid,
  );
}

export function usageOf(row: { readonly usage: string | null }): Usage {
  return row.usage === null ? noUsage : (JSON.parse(row.usage) as Usage);
}
