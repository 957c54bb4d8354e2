// `lichen approve`: what waits for a person, and the answer to it.

import { randomUUID } from "node:crypto";
import type { Agent, Session } from "@lichen/client";
import { type Approval, ApprovalId, Fault, SessionId } from "@lichen/wire";
import { attend } from "../ask.ts";
import { type Input, UsageError } from "../command.ts";
import { answersSaid } from "../answers-said.ts";
import { decideAtTerminal, describeApproval } from "../decide.ts";
import { idOrFolder } from "../folder-word.ts";
import { followRun } from "../follow-run.ts";
import { type MachineWaiting, machineWaiting } from "../machine/machine-waiting.ts";
import { findMachine } from "../machine/reach-machine.ts";
import { hasAgent } from "../machine/session-word.ts";
import { oneLine } from "../printable.ts";
import { type Decision, questionsOf } from "../question.ts";
import { reachAgent, type ReachedAgent } from "../reach-agent.ts";
import { suggestedLines } from "../suggested.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted, samePlace } from "../typed.ts";
import { allWaiting, howToAnswer, type Waiting, waitingIn } from "../waiting.ts";
import { wholeApproval } from "../whole-approval.ts";

export async function run(given: Input, terminal: Terminal): Promise<number> {
  const { id, input } = understood(given);
  const dir = input.argument("dir");
  const machine = dir === undefined ? await findMachine(input, terminal) : undefined;
  let ofMachine: MachineWaiting[] = [];
  let machineDir: string | undefined;
  if (machine)
    try {
      ofMachine = await machineWaiting(machine, input.value("session"));
      const its = ofMachine.find(({ approval }) => approval.approvalId === id);
      if (its) return await answerOnMachine(its, input, terminal);
      machineDir = machine.stateDir;
      if (machine.isElsewhere || !(await hasAgent(input))) {
        if (id !== undefined) throw unknown(id, input);
        return list(ofMachine, input, terminal);
      }
    } finally {
      await machine.close();
    }
  // What is only looked at stays as it is.
  const reached = await reachAgent(input, terminal, { atRest: true });
  let found: Waiting | undefined;
  try {
    // What waits in an agent that the machine serves is known already.
    const waiting = reached.stateDir === machineDir ? [] : await find(reached.agent, input);
    if (id === undefined) return list([...ofMachine, ...waiting], input, terminal);
    found = waiting.find(({ approval }) => approval.approvalId === id);
    if (found === undefined) throw unknown(id, input);
    const session = reached.agent.session(found.session);
    found = { ...found, approval: await wholeHere(session, found.approval, input) };
    if (reached.isShared) {
      const decision = await decide(found.approval, input, terminal);
      return await answer({ ...found, reached, decision }, input, terminal);
    }
  } finally {
    await reached.close();
  }
  // The store is nobody's while a person thinks.
  const decision = await decide(found.approval, input, terminal);
  const own = await reachAgent(input, terminal, { only: found.session });
  try {
    return await answer({ ...found, reached: own, decision }, input, terminal);
  } finally {
    await own.close();
  }
}

function unknown(id: string, input: Input): Fault {
  return new Fault(
    "unknown_approval",
    `${id} waits for nobody: it was answered, has run out, or is of another agent. ` +
      `\`${commandName()} approve${samePlace(input)}\` lists what waits.`,
  );
}

async function answerOnMachine(
  { session: name, approval: given, reached, id }: MachineWaiting,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const approval = await wholeHere(reached.agent.session(id), given, input);
  const decision = await decide(approval, input, terminal);
  return answer({ session: id, approval, reached, decision, name }, input, terminal);
}

function understood(given: Input): { id: string | undefined; input: Input } {
  const session = given.value("session");
  if (session !== undefined && !SessionId.safeParse(session).success)
    throw new UsageError("approve: --session is no session's id", "approve");
  const { id, input } = idOrFolder(given, {
    command: "approve",
    argument: "approvalId",
    isId: (word) => ApprovalId.safeParse(word).success,
    what: "no approval's id, which begins apr_",
  });
  const needy =
    ["deny", "interrupt", "always"].some((it) => given.flag(it)) ||
    ["message", "answer"].some((it) => given.value(it) !== undefined);
  if (id === undefined && needy)
    throw new UsageError(
      "approve: --deny, --interrupt, --always, --message and --answer need an <approvalId>",
      "approve",
    );
  if (given.flag("deny") && given.value("answer") !== undefined)
    throw new UsageError("approve: --deny and --answer say different things", "approve");
  if (given.flag("interrupt") && !given.flag("deny"))
    throw new UsageError("approve: --interrupt goes with --deny", "approve");
  if (given.flag("deny") && given.flag("always"))
    throw new UsageError("approve: --deny and --always say different things", "approve");
  return { id, input };
}

function find(agent: Agent, input: Input): Promise<Waiting[]> {
  const session = input.value("session");
  return session === undefined ? allWaiting(agent) : waitingIn(agent.session(session));
}

function list(waiting: readonly Waiting[], input: Input, terminal: Terminal): number {
  if (input.flag("json"))
    terminal.answer(
      `${JSON.stringify(waiting.map(({ session, approval }) => ({ session, approval })))}\n`,
    );
  else if (waiting.length === 0) terminal.say("nothing waits for a person");
  else
    for (const { session, approval } of waiting) {
      const about = describeApproval(approval).replaceAll("\n", "\n  ");
      terminal.answer(
        `${approval.approvalId}  session ${oneLine(session, 256)}, until ${approval.expiresAt}\n  ${about}\n`,
      );
      terminal.say(`  ${howToAnswer(approval, input)}`);
    }
  return 0;
}

/** With all that is answered; what only a yes or no is said to may be as long as it likes. */
async function wholeHere(session: Session, approval: Approval, input: Input): Promise<Approval> {
  if (approval.kind !== "question" || input.flag("deny")) return approval;
  return wholeApproval(approval, async (sha256) => (await session.blob(sha256))?.bytes);
}

/** What the line says to it; a question without its answers is put to the person at the terminal. */
async function decide(approval: Approval, input: Input, terminal: Terminal): Promise<Decision> {
  const message = input.value("message");
  const answers = input.values("answer");
  const isQuestion = approval.kind === "question";
  if (input.flag("always") && suggestedLines(approval).length === 0)
    throw new UsageError(
      "approve: nothing is suggested here that could hold from now on: leave --always out",
      "approve",
    );
  if (!isQuestion && answers.length > 0)
    throw new UsageError("approve: this is no question: leave --answer out", "approve");
  if (input.flag("deny") || !isQuestion)
    return { allow: !input.flag("deny"), ...(message === undefined ? {} : { message }) };
  if (message === undefined && answers.length === 0 && terminal.canAsk) {
    const decision = await decideAtTerminal(terminal, approval, new AbortController().signal);
    if (decision) return decision;
  }
  return answersSaid(questionsOf(approval), { message, answers });
}

interface Answer extends Waiting {
  readonly reached: ReachedAgent;
  readonly decision: Decision;
  readonly name?: string;
}

function answer(
  { session: id, approval, reached, decision, name = id }: Answer,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const { approvalId, commandId } = approval;
  const session = reached.agent.session(id);
  const leaving =
    "not looking on any more; the run is left alone. To stop it:\n" +
    `  ${commandName()} cancel ${quoted(name)} ${commandId}${samePlace(input)}`;
  const follower = { reached, session, input, terminal, name, leaving };
  return followRun(follower, async ({ view, decide: next, cancel }) => {
    const requestId = `approve:${randomUUID()}`;
    await session.send({
      ...{ type: "answer", requestId, approvalId, ...decision },
      ...(input.flag("always") ? { always: true } : {}),
      ...(input.flag("interrupt") ? { interrupt: true } : {}),
    });
    view.follow(commandId);
    return attend(session, { commandId, cancel }, view, next);
  });
}
