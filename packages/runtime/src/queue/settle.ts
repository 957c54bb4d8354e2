// Settlement: how a command ends, for ever, with everything that was part of it.
//
//   T1  A command settles once; its terminal, answer, usage and tool-call count never change afterwards.
//   T2  A recorded cancellation settles `cancelled`, whatever the engine answered, and carries its metadata.
//   T3  What a run leaves open ends with it: calls get an interrupted outcome, approvals are withdrawn, steers that
//       joined settle with the same terminal and answer and no usage.

import {
  cut,
  type Entry,
  type EntryData,
  type JsonObject,
  noUsage,
  type Terminal,
  type Text,
  textOf,
} from "@lichen/wire";
import type { Result } from "../engine/port.ts";
import { readBlob } from "../log/blob.ts";
import { type EntryRow, entryRow, metaOf } from "../log/entry-log.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { restore } from "../log/spill.ts";
import { pendingApprovals, writeWithdrawn } from "../run/approval-table.ts";
import { markOutcome, openCalls } from "../run/call-table.ts";
import { writeDraft } from "../run/draft.ts";
import { endProgram } from "../run/program-end.ts";
import type { Ground } from "../store/ground.ts";
import { eidOf, eidRange, parseId, seqOf, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import {
  commandRow,
  type CommandRow,
  joinedCommands,
  markCancelled,
  markSettled,
  usageOf,
} from "./command-table.ts";

const diagnosticText = 1_024;

/** Ends a running command in the transaction of its last entries. */
export function settleRun(
  ground: Ground,
  session: SessionWriter,
  cid: number,
  result: Result,
): void {
  const { sql } = ground;
  const seq = seqOf(cid);
  for (const draft of result.entries ?? []) writeDraft(ground, session, cid, draft);
  const command = commandRow(sql, cid)!;
  if (command.calls > 0) closeCalls(ground, session, cid);
  if (session.info.approvals > 0) withdrawApprovals(ground, session, cid, "the run ended");
  const terminal: Terminal = command.cancelled === null ? result.terminal : "cancelled";
  const answer =
    terminal === "completed"
      ? (result.answer ?? handedText(result) ?? lastText(sql, session.row.sid, command))
      : "";
  const meta = command.cancelled === null ? undefined : metaOf(sql, command.cancelled);
  const diagnostic =
    terminal === "completed" || terminal === "cancelled" ? undefined : result.diagnostic;
  const settled = session.append({
    kind: "run.settled",
    command: seq,
    requestId: command.request ?? undefined,
    data: {
      terminal,
      answer,
      usage: usageOf(command),
      toolCalls: command.calls,
      was: "running",
      ...(diagnostic ? { diagnostic: oneLine(diagnostic) } : {}),
      ...(terminal === "failed" && result.retryable ? { retryable: true } : {}),
      ...(meta ? { meta } : {}),
      ...(terminal === "completed" || result.isTold ? {} : untold(session)),
    },
  });
  markSettled(sql, cid, eidOf(session.row.sid, settled.seq));
  for (const steer of joinedCommands(sql, cid)) {
    const entry = session.append({
      kind: "run.settled",
      command: seqOf(steer.cid),
      requestId: steer.request ?? undefined,
      data: { terminal, answer, usage: noUsage, toolCalls: 0, was: "joined" },
    });
    markSettled(sql, steer.cid, eidOf(session.row.sid, entry.seq));
  }
}

/** Who cancels. */
interface Canceller {
  readonly meta?: JsonObject | undefined;
  readonly identity?: string | undefined;
}

/** Cancels a command that never started: its text stays readable for resubmission, and it is settled. */
export function settlePending(
  ground: Ground,
  session: SessionWriter,
  command: CommandRow,
  by: Canceller,
): Entry {
  const { text } = recordCancel(ground, session, command, "pending", by);
  const told = command.type === "prompt" ? untold(session, text) : {};
  const settled = session.append({
    kind: "run.settled",
    command: seqOf(command.cid),
    requestId: command.request ?? undefined,
    // To clients it is the message of whoever sent it.
    by: told.untold ? (command.identity ?? undefined) : undefined,
    data: {
      terminal: "cancelled",
      answer: "",
      usage: noUsage,
      toolCalls: 0,
      was: "pending",
      ...(by.meta ? { meta: by.meta } : {}),
      ...told,
    },
  });
  markSettled(ground.sql, command.cid, eidOf(session.row.sid, settled.seq));
  return settled;
}

/** Writes a cancellation's intent, with the command's text. */
export function recordCancel(
  ground: Ground,
  session: SessionWriter,
  command: CommandRow,
  was: "pending" | "running",
  by: Canceller,
): EntryData["command.queued"] {
  const queued = JSON.parse(entryRow(ground.sql, command.cid)!.data) as EntryData["command.queued"];
  const entry = session.append({
    kind: "command.cancelled",
    command: seqOf(command.cid),
    requestId: command.request ?? undefined,
    meta: by.meta,
    by: by.identity,
    data: { text: queued.text, was, ...(queued.images ? { images: queued.images } : {}) },
  });
  markCancelled(ground.sql, command.cid, eidOf(session.row.sid, entry.seq));
  return queued;
}

/** In a session whose events are numbered the settlement is one where nothing else of the log tells of it. */
function untold({ info }: SessionWriter, message?: Text): Pick<EntryData["run.settled"], "untold"> {
  if (info.events === undefined) return {};
  return { untold: message === undefined ? {} : { message } };
}

function closeCalls(ground: Ground, session: SessionWriter, cid: number): void {
  for (const call of openCalls(ground.sql, cid)) {
    if (call.started === null) continue;
    const started = JSON.parse(
      entryRow(ground.sql, call.started)!.data,
    ) as EntryData["call.started"];
    endProgram(ground.sql, session, { ...call, cid });
    const entry = session.append({
      kind: "message.tool",
      command: seqOf(cid),
      data: interruptedOutcome(started),
    });
    markOutcome(ground.sql, call.assistant, call.position, eidOf(session.row.sid, entry.seq));
  }
}

/** What the model is told of a call whose process died or that was given up. */
export function interruptedOutcome(call: {
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
}): EntryData["message.tool"] {
  return {
    assistant: call.assistant,
    index: call.index,
    callId: call.callId,
    name: call.name,
    content: [
      {
        type: "text",
        text: "This call was interrupted before its outcome was recorded. Its effect is unknown: check before you repeat it.",
      },
    ],
    isError: true,
    interrupted: true,
  };
}

export function withdrawApprovals(
  ground: Ground,
  session: SessionWriter,
  cid: number,
  reason: string,
): void {
  for (const approval of pendingApprovals(ground.sql, cid))
    writeWithdrawn(ground.sql, session, approval, { reason });
}

/** The text of the last assistant message that the result itself brings. */
function handedText({ entries = [] }: Result): string | undefined {
  const last = entries.findLast((draft) => draft.kind === "message.assistant");
  return last && textOfContent(last.data);
}

function textOfContent({ content }: EntryData["message.assistant"]): string {
  return content.map((block) => (block.type === "text" ? textOf(block.text) : "")).join("");
}

/** The text of the last assistant message that this command's run wrote. */
function lastText(sql: Sql, sid: number, command: CommandRow): string {
  const [row] = sql.all<EntryRow>(
    `select * from entry where eid > ? and eid <= ? and kind = 'message.assistant' and command = ?
     order by eid desc limit 1`,
    command.started ?? command.cid,
    eidRange(sid).last,
    seqOf(command.cid),
  );
  if (!row) return "";
  const data = restore(JSON.parse(row.data) as JsonObject, (sha256) => readBlob(sql, sha256));
  return textOfContent(data as EntryData["message.assistant"]);
}

function oneLine(text: string): string {
  return cut(text.replace(/\s+/g, " ").trim(), diagnosticText);
}

/** The command behind an id of this session, or undefined. */
export function commandById(
  sql: Sql,
  place: { readonly sid: number; readonly key: string },
  commandId: string,
): CommandRow | undefined {
  const parsed = parseId("cmd", commandId);
  if (!parsed || parsed.key !== place.key) return undefined;
  const command = commandRow(sql, eidOf(place.sid, parsed.seq));
  return command && sidOf(command.cid) === place.sid ? command : undefined;
}
