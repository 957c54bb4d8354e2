// `lichen invoke`: one message, and its answer on stdout.

import { randomUUID } from "node:crypto";
import { text as readAll } from "node:stream/consumers";
import type { Agent, Session } from "@lichen/client";
import { Fault, SessionId } from "@lichen/wire";
import { ask } from "../ask.ts";
import { type Input, UsageError } from "../command.ts";
import { describeApproval } from "../decide.ts";
import { followRun } from "../follow-run.ts";
import { modelNamed } from "../model-name.ts";
import { oneLine } from "../printable.ts";
import { reachAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { howToAnswer, waitingIn } from "../waiting.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const id = sessionOf(input);
  const text = await textOf(input);
  const reached = await reachAgent(input, terminal, { only: id });
  try {
    const { agent } = reached;
    const session = agent.session(id);
    if (await isBlocked(session, input, terminal)) return 1;
    await chooseModel(input, agent, session);
    const follower = { reached, session, input, terminal, leaving: undefined };
    return await followRun(follower, ({ view, decide, cancel }) => {
      const question = {
        text,
        requestId: `invoke:${randomUUID()}`,
        cancel,
        onAccepted: (commandId: string) => view.follow(commandId),
      };
      return ask(session, question, view, decide);
    });
  } finally {
    await reached.close();
  }
}

function sessionOf(input: Input): string {
  const session = input.value("session") ?? `cli-${randomUUID()}`;
  const parsed = SessionId.safeParse(session);
  if (parsed.success) return session;
  throw new UsageError(`invoke: --${parsed.error.issues[0]?.message}`, "invoke");
}

async function textOf(input: Input): Promise<string> {
  const typed = input.argument("text") ?? "";
  const text = typed === "-" ? await readAll(process.stdin) : typed;
  if (text.trim() === "") throw new UsageError("invoke: the message is empty", "invoke");
  return text;
}

/** A message behind a run that waits for a person waits as well; where nobody can be asked it is not sent. */
async function isBlocked(session: Session, input: Input, terminal: Terminal): Promise<boolean> {
  if (terminal.canAsk || input.value("session") === undefined) return false;
  const [first] = await waitingIn(session);
  if (first === undefined) return false;
  terminal.say(
    `lichen: session ${oneLine(session.id, 256)} waits for a person to answer an earlier message, and nobody can be asked ` +
      `here; this message was not sent.\n${describeApproval(first.approval)}\n` +
      `Answer first (until ${first.approval.expiresAt}):\n  ${howToAnswer(first.approval, input)}`,
  );
  return true;
}

async function chooseModel(input: Input, agent: Agent, session: Session): Promise<void> {
  const model = modelNamed(input.value("model"));
  if (model === undefined) return;
  try {
    await session.change({ model });
  } catch (error) {
    if (!Fault.is(error) || error.code !== "unknown_session") throw error;
    const { id } = session;
    await agent.create({ requestId: `create:${id}`, session: id, model });
  }
}
