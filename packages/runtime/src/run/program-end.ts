// The end of a program: with the outcome of its own call, or with the run.
//
//   J6  What a program leaves open ends with it, as interrupted; its snapshot goes.

import type { EntryData } from "@lichen/wire";
import { entryRow } from "../log/entry-log.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { eidOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { openCalls } from "./call-table.ts";
import { dropSnapshot } from "./program-snapshot.ts";
import {
  markProgramOutcome,
  openProgramCalls,
  type ProgramKey,
  programRow,
} from "./program-table.ts";

/** Ends the program that this call is, where it is one, in the transaction of its outcome. */
export function endProgram(
  sql: Sql,
  session: SessionWriter,
  call: ProgramKey & { readonly cid: number },
): void {
  const { assistant, position, cid } = call;
  if (!programRow(sql, call)) return;
  for (const open of openProgramCalls(sql, cid)) {
    if (open.assistant !== assistant || open.position !== position) continue;
    const started = JSON.parse(entryRow(sql, open.started!)!.data) as EntryData["program.call"];
    const entry = session.append({
      kind: "program.outcome",
      command: seqOf(cid),
      data: interruptedProgramCall(started),
    });
    markProgramOutcome(sql, open, open.ordinal, eidOf(session.row.sid, entry.seq));
  }
  dropSnapshot(sql, call);
}

/** The entry that closes a call which nobody goes on with. */
export function interruptedProgramCall(
  call: Pick<EntryData["program.call"], "assistant" | "index" | "ordinal" | "operation">,
): EntryData["program.outcome"] {
  const { assistant, index, ordinal, operation } = call;
  return {
    ...{ assistant, index, ordinal, operation },
    ...interruptedOutcome(call),
    interrupted: true,
  };
}

/** What code is told of a call whose process died in it, or that was given up. */
export function interruptedOutcome({ operation }: { readonly operation: string }): {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
} {
  return {
    ok: false,
    code: "interrupted",
    message: `${operation} was interrupted before its outcome was recorded. Its effect is unknown: check before you repeat it.`,
  };
}

/**
 * Whether a call that may have had an effect is open: then nobody knows how the run ended. A program has no effect but
 * those of its calls.
 */
export function hasOpenWrite(sql: Sql, cid: number): boolean {
  const isWrite = (call: { readonly label: string }): boolean => call.label === "write";
  return (
    openCalls(sql, cid).some((call) => isWrite(call) && !programRow(sql, call)) ||
    openProgramCalls(sql, cid).some(isWrite)
  );
}
