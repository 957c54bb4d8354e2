// Program rows: which calls are programs, and for each call that a program makes whether its intent and its outcome are
// in the log. A program's calls are keyed by the program's own call and their ordinal.

import type { Label } from "@lichen/wire";
import type { Sql } from "../store/sql.ts";
import { snapshotTables } from "./program-snapshot.ts";

export const programTables: readonly string[] = [
  `create table program (
    assistant integer not null, position integer not null, cid integer not null, started integer not null,
    engine text, delivered integer, primary key (assistant, position)) without rowid`,
  `create table program_call (
    assistant integer not null, position integer not null, ordinal integer not null, cid integer not null,
    operation text not null, digest text not null, label text not null, replay_safe integer not null,
    started integer, outcome integer, primary key (assistant, position, ordinal)) without rowid`,
  "create index program_call_open on program_call(cid) where outcome is null",
  ...snapshotTables,
];

/** The call that a program is: the row key of its assistant message, and its place in that. */
export interface ProgramKey {
  readonly assistant: number;
  readonly position: number;
}

export interface ProgramRow extends ProgramKey {
  readonly cid: number;
  /** Row key of `program.started`. */
  readonly started: number;
  /** Of the snapshot that is kept: who made it, and how many outcomes it holds. */
  readonly engine: string | null;
  readonly delivered: number | null;
}

export interface ProgramCallRow extends ProgramKey {
  readonly ordinal: number;
  readonly cid: number;
  readonly operation: string;
  /** Of the input that the program gave. */
  readonly digest: string;
  readonly label: Label;
  readonly replay_safe: number;
  /** Row key of `program.call`; none where the call was refused. */
  readonly started: number | null;
  /** Row key of `program.outcome`. */
  readonly outcome: number | null;
}

export function programRow(sql: Sql, { assistant, position }: ProgramKey): ProgramRow | undefined {
  return sql.all<ProgramRow>(
    "select * from program where assistant = ? and position = ?",
    assistant,
    position,
  )[0];
}

export function insertProgram(
  sql: Sql,
  row: Pick<ProgramRow, "assistant" | "position" | "cid" | "started">,
): void {
  sql.run(
    "insert into program (assistant, position, cid, started) values (?, ?, ?, ?)",
    row.assistant,
    row.position,
    row.cid,
    row.started,
  );
}

export function programCallRow(
  sql: Sql,
  { assistant, position }: ProgramKey,
  ordinal: number,
): ProgramCallRow | undefined {
  return sql.all<ProgramCallRow>(
    "select * from program_call where assistant = ? and position = ? and ordinal = ?",
    assistant,
    position,
    ordinal,
  )[0];
}

/** All calls of a program, by ordinal. */
export function programCalls(sql: Sql, { assistant, position }: ProgramKey): ProgramCallRow[] {
  return sql.all<ProgramCallRow>(
    "select * from program_call where assistant = ? and position = ? order by ordinal",
    assistant,
    position,
  );
}

export function insertProgramCall(sql: Sql, row: ProgramCallRow): void {
  sql.run(
    "insert into program_call values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    row.assistant,
    row.position,
    row.ordinal,
    row.cid,
    row.operation,
    row.digest,
    row.label,
    row.replay_safe,
    row.started,
    row.outcome,
  );
}

export function markProgramOutcome(
  sql: Sql,
  { assistant, position }: ProgramKey,
  ordinal: number,
  outcome: number,
): void {
  sql.run(
    "update program_call set outcome = ? where assistant = ? and position = ? and ordinal = ?",
    outcome,
    assistant,
    position,
    ordinal,
  );
}

/** Ordinals in the order of their outcomes in the log, with the time of each. */
export function recordedOrder(
  sql: Sql,
  { assistant, position }: ProgramKey,
): { readonly ordinal: number; readonly at: number }[] {
  return sql.all<{ ordinal: number; at: number }>(
    `select c.ordinal, e.at from program_call c join entry e on e.eid = c.outcome
     where c.assistant = ? and c.position = ? order by c.outcome`,
    assistant,
    position,
  );
}

/** Calls of a run's programs with an intent and no outcome. */
export function openProgramCalls(sql: Sql, cid: number): ProgramCallRow[] {
  return sql.all<ProgramCallRow>(
    "select * from program_call where cid = ? and outcome is null order by assistant, position, ordinal",
    cid,
  );
}
