// Baselines: a session's bounded view at its head, read from the store.
//
//   O5  A baseline holds at most 200 entries and 1 MiB of them, newest asked first, oldest first in the answer.
//   O6  The baseline at head h2 equals the fold of the baseline at h1 and the entries h1..h2, partials aside.

import {
  type Approval,
  approvalOf,
  type Baseline,
  baselineEntries,
  type Entry,
  type EntryOf,
  type PendingCommand,
  pendingOf,
} from "@lichen/wire";
import { entryRow, newestEntries, toEntry } from "../log/entry-log.ts";
import type { SessionRow } from "../log/session-row.ts";
import { queuedCommands, runningCommand } from "../queue/command-table.ts";
import { pendingInSession } from "../run/approval-table.ts";
import { instant } from "../store/ground.ts";
import { idOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";

export function readBaseline(
  sql: Sql,
  row: SessionRow,
  limit: number = baselineEntries,
  before?: number,
): Baseline {
  const { entries, more } = newestEntries(sql, row, limit, before);
  const running = runningOf(sql, row);
  return {
    epoch: row.epoch,
    head: row.info.head,
    session: row.info,
    entries,
    more,
    pending: row.info.pending > 0 ? pendingCommands(sql, row) : [],
    ...(running ? { running } : {}),
    approvals: row.info.approvals > 0 ? approvals(sql, row) : [],
    attention: [],
    projections: {},
  };
}

function pendingCommands(sql: Sql, row: SessionRow): PendingCommand[] {
  return queuedCommands(sql, row.sid).map((command) =>
    pendingOf(read(sql, row, command.cid) as EntryOf<"command.queued">),
  );
}

function approvals(sql: Sql, row: SessionRow): Approval[] {
  return pendingInSession(sql, row.sid).map((approval) =>
    approvalOf(read(sql, row, approval.asked) as EntryOf<"approval.asked">),
  );
}

function runningOf(sql: Sql, row: SessionRow): Baseline["running"] {
  if (row.info.state !== "running" && row.info.state !== "waiting") return undefined;
  const command = runningCommand(sql, row.sid);
  if (!command?.started) return undefined;
  const started = entryRow(sql, command.started);
  return {
    commandId: idOf("cmd", row.key, seqOf(command.cid)),
    startedAt: instant(started!.at),
  };
}

function read(sql: Sql, row: SessionRow, eid: number): Entry {
  return toEntry(sql, row.key, entryRow(sql, eid)!);
}
