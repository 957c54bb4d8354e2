// The snapshot of a program: the state that it waits in, kept in parts until its call ends.
//
//   J7  A snapshot is there whole or not at all, in place of the one before.

import { Fault } from "@lichen/wire";
import type { ProgramSnapshot } from "../engine/program.ts";
import type { Sql } from "../store/sql.ts";
import type { ProgramKey, ProgramRow } from "./program-table.ts";

const partBytes = 524_288;
const limitBytes = 8_388_608;

export const snapshotTables: readonly string[] = [
  `create table program_snapshot (
    assistant integer not null, position integer not null, part integer not null, bytes blob not null,
    primary key (assistant, position, part))`,
];

/** Refuses what no snapshot may be. */
export function checkSnapshot({ bytes }: ProgramSnapshot): void {
  if (bytes.length > limitBytes)
    throw new Fault(
      "too_large",
      `The snapshot of the program has ${bytes.length} bytes, more than the ${limitBytes} that are kept: it replays from its start instead.`,
    );
}

export function readSnapshot(sql: Sql, row: ProgramRow): ProgramSnapshot | undefined {
  const { assistant, position, engine, delivered } = row;
  if (engine === null || delivered === null) return undefined;
  const parts = sql.all<{ bytes: Uint8Array }>(
    "select bytes from program_snapshot where assistant = ? and position = ? order by part",
    assistant,
    position,
  );
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part.bytes, at);
    at += part.bytes.length;
  }
  return { engine, delivered, bytes };
}

/** Keeps a snapshot in place of the one before. Part of a transaction, after the program's row. */
export function keepSnapshot(sql: Sql, key: ProgramKey, snapshot: ProgramSnapshot): void {
  const { assistant, position } = key;
  const { engine, delivered, bytes } = snapshot;
  dropSnapshot(sql, key);
  for (let part = 0; part * partBytes < bytes.length; part++)
    sql.run(
      "insert into program_snapshot values (?, ?, ?, ?)",
      assistant,
      position,
      part,
      bytes.subarray(part * partBytes, (part + 1) * partBytes),
    );
  sql.run(
    "update program set engine = ?, delivered = ? where assistant = ? and position = ?",
    engine,
    delivered,
    assistant,
    position,
  );
}

export function dropSnapshot(sql: Sql, { assistant, position }: ProgramKey): void {
  sql.run("delete from program_snapshot where assistant = ? and position = ?", assistant, position);
  sql.run(
    "update program set engine = null, delivered = null where assistant = ? and position = ?",
    assistant,
    position,
  );
}
