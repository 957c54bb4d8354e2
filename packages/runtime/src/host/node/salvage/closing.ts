// What becomes of a session whose end is lost: what stands open in it ends as unknown, since it may have gone on.
//
// Nothing of it runs again: a tool may have done its work in the part of the log that is gone.

import { type EntryData, noUsage, type Terminal } from "@lichen/wire";
import { interruptedOutcome } from "../../../queue/settle.ts";
import type { RebuiltCommand, RebuiltSession } from "./rebuilt-session.ts";

const diagnostic = "the log of this session is damaged behind this point";

/** Ends every command that is open. Answers how many those were. */
export function endOpenCommands(session: RebuiltSession, at: number): number {
  const open = [...session.commands.values()].filter(({ state }) => state !== "settled");
  for (const command of open) {
    if (command.state !== "running") continue;
    endRun(session, command, at);
    settle(session, command, at, "running");
  }
  for (const command of open)
    if (command.state === "joined" || command.state === "queued")
      settle(session, command, at, command.state === "joined" ? "joined" : "pending");
  return open.length;
}

/** Says in the log itself, for people and for the model, that what came here is lost. */
export function noteLoss(session: RebuiltSession, at: number): void {
  const text =
    session.info.head === 0
      ? "What was said here is lost: the store was damaged, and nothing of this conversation could be read."
      : "The store was damaged: what was said after this point is lost.";
  session.append("line", { text }, { at, author: "lichen doctor" });
}

function endRun(session: RebuiltSession, command: RebuiltCommand, at: number): void {
  for (const outcome of session.programs.interrupted(command.seq))
    session.append("program.outcome", outcome, { at, command: command.seq });
  for (const call of session.openCalls(command.seq))
    session.append("message.tool", interruptedOutcome(call), { at, command: command.seq });
  for (const named of session.pendingApprovals(command.seq))
    session.append(
      "approval.withdrawn",
      { ...named, reason: diagnostic },
      { at, command: command.seq },
    );
}

function settle(
  session: RebuiltSession,
  command: RebuiltCommand,
  at: number,
  was: "pending" | "running" | "joined",
): void {
  const terminal: Terminal = command.cancelled === null ? "outcome_unknown" : "cancelled";
  const isRun = was === "running";
  session.append(
    "run.settled",
    {
      terminal,
      answer: "",
      usage: isRun ? command.usage : noUsage,
      toolCalls: isRun ? command.calls : 0,
      was,
      ...(terminal === "outcome_unknown" ? { diagnostic } : {}),
      ...untold(session, command, was),
    },
    { at, command: command.seq },
  );
}

/** Nothing else of the log of a machine's session says that it ended. */
function untold(
  session: RebuiltSession,
  { seq, type }: RebuiltCommand,
  was: "pending" | "running" | "joined",
): Pick<EntryData["run.settled"], "untold"> {
  if (session.info.events === undefined || was === "joined") return {};
  if (was === "running") return { untold: {} };
  return type === "prompt" ? { untold: { message: session.queuedText(seq) } } : {};
}
