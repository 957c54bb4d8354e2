// `lichen approve`: what waits for a person, and the answer to it.

import { randomUUID } from "node:crypto";
import type { Agent } from "@lichen/client";
import { ApprovalId, Fault, SessionId } from "@lichen/wire";
import { attend } from "../ask.ts";
import { type Input, UsageError } from "../command.ts";
import { describeApproval } from "../decide.ts";
import { idOrFolder } from "../folder-word.ts";
import { followRun } from "../follow-run.ts";
import { type MachineWaiting, machineWaiting } from "../machine/machine-waiting.ts";
import { findMachine } from "../machine/reach-machine.ts";
import { hasAgent } from "../machine/session-word.ts";
import { oneLine } from "../printable.ts";
import { decisionBy } from "../question.ts";
import { reachAgent, type ReachedAgent } from "../reach-agent.ts";
import { suggestedLines } from "../suggested.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, samePlace } from "../typed.ts";
import { allWaiting, howToAnswer, type Waiting, waitingIn } from "../waiting.ts";

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
    refuseUnanswered(found, input);
    if (reached.isShared) return await answer(reached, found, input, terminal);
  } finally {
    await reached.close();
  }
  const own = await reachAgent(input, terminal, { only: found.session });
  try {
    return await answer(own, found, input, terminal);
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

function answerOnMachine(
  waiting: MachineWaiting,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  refuseUnanswered(waiting, input);
  const { session: name, approval, reached, id } = waiting;
  return answer(reached, { session: id, approval }, input, terminal, name);
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
  const needy = ["deny", "interrupt", "always"].some((it) => given.flag(it));
  if (id === undefined && (needy || given.value("message") !== undefined))
    throw new UsageError(
      "approve: --deny, --interrupt, --always and --message need an <approvalId>",
      "approve",
    );
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

function refuseUnanswered({ approval }: Waiting, input: Input): void {
  const isAllowed = !input.flag("deny");
  if (approval.kind === "question" && isAllowed && input.value("message") === undefined)
    throw new UsageError("approve: this is a question: answer it with --message", "approve");
  if (input.flag("always") && suggestedLines(approval).length === 0)
    throw new UsageError(
      "approve: nothing is suggested here that could hold from now on: leave --always out",
      "approve",
    );
}

function answer(
  reached: ReachedAgent,
  { session: id, approval }: Waiting,
  input: Input,
  terminal: Terminal,
  name?: string,
): Promise<number> {
  const { approvalId, commandId } = approval;
  const message = input.value("message");
  const allow = !input.flag("deny");
  const session = reached.agent.session(id);
  const follower = { reached, session, input, terminal, ...(name === undefined ? {} : { name }) };
  return followRun(follower, async ({ view, decide, cancel }) => {
    const requestId = `approve:${randomUUID()}`;
    await session.send({
      ...{ type: "answer", requestId, approvalId, allow },
      ...(input.flag("always") ? { always: true } : {}),
      ...(input.flag("interrupt") ? { interrupt: true } : {}),
      ...(message === undefined ? {} : allow ? decisionBy(approval, message) : { message }),
    });
    view.follow(commandId);
    return attend(session, { commandId, cancel }, view, decide);
  });
}
