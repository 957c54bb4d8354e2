// `lichen send`: a message admitted to a session, without or with waiting for its end.

import { randomUUID } from "node:crypto";
import { text as readAll } from "node:stream/consumers";
import type { Session } from "@lichen/client";
import {
  type Command,
  Fault,
  imageTypeOf,
  type InlineImage,
  type Receipt,
  RequestId,
} from "@lichen/wire";
import { attend } from "../ask.ts";
import { type Input, UsageError } from "../command.ts";
import { followRun } from "../follow-run.ts";
import { onSession, sessionIdOf } from "../known-session.ts";
import { type Meant, meantBy } from "../machine/session-word.ts";
import { onlySession } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import { reachAgent, type ReachedAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { readRegular } from "../regular-file.ts";
import { commandName, quoted, samePlace } from "../typed.ts";

type Said = Extract<Command, { type: "prompt" | "line" }>;

/** As base64 more than a host takes. */
const maxImageBytes = 12 * 1_048_576;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const id = sessionIdOf(input.argument("session") ?? "", "send");
  const command = await commandOf(input);
  const waits = input.flag("wait");
  const meant = await meantBy(id, "send", input, terminal);
  if (meant) return sendToMachine(meant, command, input, terminal);
  const reached = await reachAgent(input, terminal, waits ? { only: id } : { atRest: true });
  try {
    const session = reached.agent.session(id);
    const send = () => session.send(command);
    const receipt = await onSession(id, input, send, ", and `send --new` begins one");
    const { commandId, entryId } = receipt;
    if (waits && commandId !== undefined)
      return await follow({ reached, session, input, terminal }, commandId);
    if (input.flag("json")) terminal.answer(`${JSON.stringify(receipt)}\n`);
    else terminal.answer(`${commandId ?? entryId}\n`);
    if (!reached.isShared && commandId !== undefined)
      terminal.say(
        `kept; no host runs for this agent, so it is answered once one does:\n  ${commandName()} start${samePlace(input)}`,
      );
    return 0;
  } finally {
    await reached.close();
  }
}

/** To the machine that runs. The first conversation of a folder's agent begins with what is said in it. */
async function sendToMachine(
  { machine, name, reached, session, missing, isOfFolder }: Meant,
  given: Said,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  try {
    // Its start would fail only after the message was taken.
    if (missing !== undefined) throw new Fault("unavailable", missing, { retryable: false });
    const isBegun = isOfFolder && session.id === onlySession;
    const receipt = await sent(session, isBegun ? beginning(given) : given, name);
    const { commandId, entryId } = receipt;
    if (input.flag("wait") && commandId !== undefined)
      return await follow({ reached, session, input, terminal, name }, commandId);
    if (input.flag("json")) terminal.answer(`${JSON.stringify(receipt)}\n`);
    else terminal.answer(`${commandId ?? entryId}\n`);
    return 0;
  } finally {
    await machine.close();
  }
}

/** What is said to a session that need not be there. */
function beginning({ requireExisting: _needed, ...said }: Said): Command {
  return said;
}

async function sent(session: Session, command: Command, name: string): Promise<Receipt> {
  try {
    return await session.send(command);
  } catch (cause) {
    if (!Fault.is(cause) || !["unknown_session", "closed"].includes(cause.code)) throw cause;
    throw new Fault(
      cause.code,
      `There is no conversation ${oneLine(name, 256)}: say --new to begin it, or leave out what is behind the / for the first one.`,
      { cause },
    );
  }
}

interface Following {
  readonly reached: ReachedAgent;
  readonly session: Session;
  readonly input: Input;
  readonly terminal: Terminal;
  /** Of a session of the machine. */
  readonly name?: string;
}

/** Ctrl-C ends the waiting alone: what was sent stays sent. */
function follow(following: Following, commandId: string): Promise<number> {
  const { session, input, terminal, name = session.id } = following;
  terminal.say(`sent as ${commandId}`);
  const leaving =
    "not waiting any more; what was sent stays. To take it back:\n" +
    `  ${commandName()} cancel ${quoted(name)} ${commandId}${samePlace(input)}`;
  return followRun({ ...following, leaving }, ({ view, decide, cancel }) => {
    view.follow(commandId);
    return attend(session, { commandId, cancel }, view, decide);
  });
}

async function commandOf(input: Input): Promise<Said> {
  const isLine = input.flag("line");
  const images = input.values("image");
  const refused = [
    ...(input.flag("steer") ? ["--steer"] : []),
    ...(input.flag("wait") ? ["--wait"] : []),
    ...(images.length > 0 ? ["--image"] : []),
  ][0];
  if (isLine && refused !== undefined)
    throw new UsageError(`send: a --line runs nothing and takes no ${refused}`, "send");
  const requestId = input.value("request-id") ?? `send:${randomUUID()}`;
  const parsed = RequestId.safeParse(requestId);
  if (!parsed.success)
    throw new UsageError(`send: --request-id: ${parsed.error.issues[0]?.message}`, "send");
  const typed = input.argument("text") ?? "";
  const text = typed === "-" ? await readAll(process.stdin) : typed;
  if (text.trim() === "" && images.length === 0)
    throw new UsageError("send: the message is empty", "send");
  const common = {
    requestId,
    text,
    ...(input.flag("new") ? {} : { requireExisting: true as const }),
  };
  if (isLine) return { type: "line", ...common };
  return {
    type: "prompt",
    ...common,
    ...(images.length === 0 ? {} : { images: await Promise.all(images.map(imageAt)) }),
    ...(input.flag("steer") ? { delivery: "steer" as const } : {}),
  };
}

async function imageAt(path: string): Promise<InlineImage> {
  const bytes = await readRegular(path, maxImageBytes);
  const mimeType = imageTypeOf(bytes);
  if (mimeType === undefined)
    throw new Fault("invalid", `${path} is no PNG, JPEG, GIF or WebP: send one of these.`);
  return { mimeType, data: bytes.toString("base64") };
}
