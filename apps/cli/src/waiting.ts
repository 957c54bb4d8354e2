// What waits for a person, and how to answer it.

import type { Agent, Session } from "@lichen/client";
import { type Approval, Fault } from "@lichen/wire";
import { allSessions } from "./all-sessions.ts";
import { lineFor } from "./answers-said.ts";
import type { Input } from "./command.ts";
import { questionsOf } from "./question.ts";
import { suggestedLines } from "./suggested.ts";
import { commandName, samePlace } from "./typed.ts";

export interface Waiting {
  readonly session: string;
  readonly approval: Approval;
}

/** What a session waits for; nothing where there is no such session. */
export async function waitingIn(session: Session): Promise<Waiting[]> {
  try {
    const { approvals } = await session.read({ limit: 1 });
    return approvals
      .filter(({ state }) => state === "pending")
      .map((approval) => ({ session: session.id, approval }));
  } catch (error) {
    if (Fault.is(error) && error.code === "unknown_session") return [];
    throw error;
  }
}

/** What any session waits for, the latest active one first. */
export async function allWaiting(agent: Agent): Promise<Waiting[]> {
  const found: Waiting[] = [];
  for (const { session, approvals } of await allSessions(agent))
    if (approvals > 0) found.push(...(await waitingIn(agent.session(session))));
  return found;
}

/** The line to type, for the place that a command line named. */
export function howToAnswer(approval: Approval, input: Input): string {
  const { approvalId, kind } = approval;
  const line = `${commandName()} approve ${approvalId}${samePlace(input)}`;
  if (kind === "question") {
    const questions = questionsOf(approval);
    return `${line} ${questions.length > 1 ? lineFor(questions) : '--message "…"'}`;
  }
  const always = suggestedLines(approval).length > 0 ? ", or with --always" : "";
  return `${line}      (or with --deny${always})`;
}
