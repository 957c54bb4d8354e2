// `lichen cancel`: ends what a session does and what waits in it, or one command of it.

import { randomUUID } from "node:crypto";
import type { Session } from "@lichen/client";
import { CommandId, Fault } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { idOrFolder } from "../folder-word.ts";
import { onSession, sessionIdOf } from "../known-session.ts";
import { isBegun } from "../machine/conversation.ts";
import { type Meant, meantBy } from "../machine/session-word.ts";
import { oneLine } from "../printable.ts";
import { reachAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

export async function run(given: Input, terminal: Terminal): Promise<number> {
  const { id, commandId, input } = understood(given);
  const meant = await meantBy(id, "cancel", input, terminal);
  if (meant) return cancelOnMachine(meant, commandId, input, terminal);
  const reached = await reachAgent(input, terminal, { atRest: true });
  try {
    const session = reached.agent.session(id);
    return await onSession(id, input, () =>
      commandId === undefined
        ? abort(session, id, input, terminal)
        : cancel(session, commandId, input, terminal),
    );
  } finally {
    await reached.close();
  }
}

function understood(given: Input): { id: string; commandId: string | undefined; input: Input } {
  const id = sessionIdOf(given.argument("session") ?? "", "cancel");
  const { id: commandId, input } = idOrFolder(given, {
    command: "cancel",
    argument: "commandId",
    isId: (word) => CommandId.safeParse(word).success,
    what: "no command's id, which begins cmd_",
  });
  if (commandId === undefined && given.flag("only-if-pending"))
    throw new UsageError("cancel: --only-if-pending needs a <commandId>", "cancel");
  return { id, commandId, input };
}

async function cancelOnMachine(
  meant: Meant,
  commandId: string | undefined,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const { machine, name, session } = meant;
  try {
    if (!(await isBegun(meant))) {
      terminal.say(`nothing was said in ${oneLine(name, 256)} yet, so that nothing runs there`);
      return commandId === undefined ? 0 : 1;
    }
    return commandId === undefined
      ? await abort(session, name, input, terminal)
      : await known(name, () => cancel(session, commandId, input, terminal));
  } finally {
    await machine.close();
  }
}

/** By the name that people know. */
async function known<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!Fault.is(cause) || cause.code !== "unknown_command") throw cause;
    throw new Fault(
      cause.code,
      `Session ${oneLine(name, 100)} knows no such command: \`${commandName()} send\` prints the id of each message, and without an id all of it is cancelled.`,
      { cause },
    );
  }
}

async function abort(
  session: Session,
  name: string,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const receipt = await session.send({ type: "abort", requestId: `abort:${randomUUID()}` });
  const cancelled = receipt.cancelled ?? [];
  if (input.flag("json")) terminal.answer(`${JSON.stringify(receipt)}\n`);
  else if (cancelled.length === 0)
    terminal.say(`nothing runs in session ${oneLine(name, 256)}, and nothing waits to run`);
  else for (const commandId of cancelled) terminal.answer(`${commandId}\n`);
  return 0;
}

async function cancel(
  session: Session,
  commandId: string,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const onlyIfPending = input.flag("only-if-pending");
  const receipt = await session.send({
    type: "cancel",
    requestId: `cancel:${randomUUID()}`,
    commandId,
    ...(onlyIfPending ? { onlyIfPending } : {}),
  });
  const isTooLate = receipt.status === "too_late";
  if (input.flag("json")) terminal.answer(`${JSON.stringify(receipt)}\n`);
  else if (!isTooLate) terminal.answer(`${commandId}\n`);
  if (!isTooLate) return 0;
  const reason = onlyIfPending
    ? "it has begun, or has ended already"
    : "it has ended already, or is part of another command's run";
  terminal.say(`lichen: ${commandId} was not cancelled: ${reason}`);
  return 1;
}
