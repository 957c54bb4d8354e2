// Recovery: what becomes of a run whose process died.
//
//   R1  In this order: a recorded cancel settles `cancelled`; an engine that can resume goes on from the last committed
//       step; else the run ends.
//   R3  Three recoveries without a newly committed step are the budget, counted durably before resuming; a drained stop
//       and a run that only waits for people cost nothing.
//   R4  Past the budget a command settles `outcome_unknown` if a write call was open, else `interrupted`.

import type { Engine, Result } from "../engine/port.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { pendingApprovals } from "../run/approval-table.ts";
import { hasOpenWrite } from "../run/program-end.ts";
import { openProgramCalls } from "../run/program-table.ts";
import type { Ground } from "../store/ground.ts";
import { seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { commandRow, type CommandRow } from "./command-table.ts";

const budget = 3;

export type Verdict =
  | { readonly goesOn: true; readonly command: CommandRow }
  | { readonly goesOn: false; readonly result: Result };

/** Decides in the session's transaction, and counts what it costs. */
export function recover(
  ground: Ground,
  session: SessionWriter,
  cid: number,
  engine: Engine,
): Verdict {
  const { sql } = ground;
  const command = commandRow(sql, cid)!;
  if (command.cancelled !== null) return { goesOn: false, result: { terminal: "cancelled" } };
  if (!engine.can.resume)
    return ended(sql, cid, `the engine ${engine.name} cannot go on with a run whose process died`);
  if (command.drained !== 0) {
    sql.run("update command set drained = 0 where cid = ?", cid);
    return { goesOn: true, command };
  }
  if (onlyWaits(sql, cid)) return { goesOn: true, command };
  if (command.recoveries >= budget)
    return ended(sql, cid, `the process died ${budget + 1} times without a new step of this run`);
  const recoveries = command.recoveries + 1;
  sql.run("update command set recoveries = ? where cid = ?", recoveries, cid);
  session.append({ kind: "run.recovered", command: seqOf(cid), data: { recoveries } });
  return { goesOn: true, command: { ...command, recoveries } };
}

/** Whether a person is waited for, and no call of a program ran beside that: one that ends its host would do so for ever. */
function onlyWaits(sql: Sql, cid: number): boolean {
  const pending = pendingApprovals(sql, cid);
  const inCalls = pending.filter(({ name }) => /\/program\/\d+\//.test(name));
  return pending.length > 0 && openProgramCalls(sql, cid).length <= inCalls.length;
}

function ended(sql: Sql, cid: number, diagnostic: string): Verdict {
  return {
    goesOn: false,
    result: orphanedResult(sql, cid, { terminal: "interrupted", diagnostic }),
  };
}

/** The result of a run that ended without its engine's word: unknown where a write call is open. */
export function orphanedResult(sql: Sql, cid: number, otherwise: Result): Result {
  return hasOpenWrite(sql, cid)
    ? {
        terminal: "outcome_unknown",
        ...(otherwise.diagnostic ? { diagnostic: otherwise.diagnostic } : {}),
      }
    : otherwise;
}

/** What an earlier process left in the store, by agent. */
export function leftOver(sql: Sql): Map<number, { running: number[]; queued: number[] }> {
  const left = new Map<number, { running: number[]; queued: number[] }>();
  const of = (aid: number): { running: number[]; queued: number[] } => {
    let agent = left.get(aid);
    if (!agent) left.set(aid, (agent = { running: [], queued: [] }));
    return agent;
  };
  const open = sql.all<{ aid: number; sid: number; cid: number; state: string }>(
    `select s.aid, s.sid, c.cid, c.state from command c join session s on s.sid = c.cid / 1073741824
     where c.state <> 'settled' and c.state in ('running', 'queued') and s.deleted = 0 order by c.cid`,
  );
  const busy = new Set(open.filter((it) => it.state === "running").map((it) => it.sid));
  for (const { aid, sid, cid, state } of open) {
    if (state === "running") of(aid).running.push(cid);
    else if (!busy.has(sid) && of(aid).queued.at(-1) !== sid) of(aid).queued.push(sid);
  }
  return left;
}
