// `lichen invoke`: one message, and its answer on stdout.

import { randomUUID } from "node:crypto";
import { text as readAll } from "node:stream/consumers";
import { type Approval, Fault, SessionId } from "@lichen/wire";
import { connectHost, onStopSignal, openHost } from "@lichen/server/node";
import { ask, type Decide } from "../ask.ts";
import { type Input, UsageError } from "../command.ts";
import { decideAtTerminal, describeApproval } from "../decide.ts";
import { HostLink } from "../host-link.ts";
import { modelNamed, variable } from "../model-name.ts";
import { onlyHost, type Place, placeOf, type Reached } from "../place.ts";
import { type Conversation, RemoteSession } from "../remote-session.ts";
import { RunView } from "../run-view.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const session = sessionOf(input);
  const text = await textOf(input);
  const conversing = await converse(input, terminal, session);
  try {
    await chooseModel(input, conversing);
    return await askAndShow(conversing, text, input, terminal);
  } finally {
    await conversing.close();
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

interface Conversing {
  readonly conversation: Conversation;
  /** Others can reach this session while it runs: through the host that serves it. */
  readonly isShared: boolean;
  /** Makes the session, on this model. */
  readonly create: (model: string) => Promise<unknown>;
  close(): Promise<void>;
}

/** The session in the running host, or in the store opened here. */
async function converse(input: Input, terminal: Terminal, session: string): Promise<Conversing> {
  const found = await find(input);
  if ("address" in found) return remote(found, terminal, session);
  const connection = await connectHost(found.stateDir);
  if (connection.found === "host") {
    return remote(
      { address: connection, agent: found.agentId, stateDir: found.stateDir },
      terminal,
      session,
    );
  }
  if (connection.found === "stranger") {
    terminal.say(
      `what listens at ${connection.url} is not this agent's host; nothing was told to it`,
    );
  }
  const host = await openHost({
    dir: found.dir,
    state: found.stateDir,
    env: variable,
    report: (error) => {
      terminal.say(`lichen: ${error instanceof Error ? error.stack : String(error)}`);
      process.exit(1);
    },
  });
  return {
    conversation: host.agent.session(session),
    isShared: false,
    create: (model) => host.agent.create({ requestId: `create:${session}`, session, model }),
    close: () => host.close({ patienceMs: 0 }),
  };
}

/** The place a command line means; away from all agent folders, the one host that runs. */
async function find(input: Input): Promise<Place | Reached> {
  try {
    return await placeOf(input);
  } catch (error) {
    if (!Fault.is(error) || input.argument("dir") !== undefined) throw error;
    const reached = await onlyHost(input);
    if (reached === undefined) throw error;
    return reached;
  }
}

function remote(reached: Reached, terminal: Terminal, session: string): Conversing {
  const { stateDir, agent } = reached;
  let first: Reached["address"] | undefined = reached.address;
  const reach = async () => {
    const known = first;
    first = undefined;
    if (known !== undefined) return known;
    const connection = await connectHost(stateDir);
    return connection.found === "host" ? connection : undefined;
  };
  const onBreak = () => terminal.say("the host went away; waiting for it to come back");
  const link = new HostLink(reach, { onBreak });
  return {
    conversation: new RemoteSession(link, agent, session),
    isShared: true,
    create: (model) =>
      link.request(`/agents/${encodeURIComponent(agent)}/sessions`, {
        method: "POST",
        body: { requestId: `create:${session}`, session, model },
      }),
    close: async () => undefined,
  };
}

async function chooseModel(input: Input, { conversation, create }: Conversing): Promise<void> {
  const model = modelNamed(input.value("model"));
  if (model === undefined) return;
  try {
    await conversation.change({ model });
  } catch (error) {
    if (!Fault.is(error) || error.code !== "unknown_session") throw error;
    await create(model);
  }
}

async function askAndShow(
  { conversation, isShared }: Conversing,
  text: string,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const view = new RunView(terminal);
  const cancel = new AbortController();
  const ignoreSignals = onStopSignal(() => {
    terminal.say("cancelling; once more to quit at once");
    cancel.abort();
  });
  const decide: Decide = async (approval, withdrawn) => {
    if (terminal.canAsk) return decideAtTerminal(terminal, approval, withdrawn);
    terminal.say(describeApproval(approval));
    if (!isShared) return undefined;
    terminal.say(`waiting for a person to answer ${approval.approvalId} through the host`);
    return new Promise((resolve) => {
      withdrawn.addEventListener("abort", () => resolve(undefined), { once: true });
    });
  };
  const question = {
    text,
    requestId: `invoke:${randomUUID()}`,
    cancel: cancel.signal,
    onAccepted: (commandId: string) => view.follow(commandId),
  };
  try {
    const asked = await ask(conversation, question, view, decide);
    if (asked.outcome === "waiting") return sayWaiting(asked.approval, conversation.id, terminal);
    const { settlement } = asked;
    if (input.flag("json")) terminal.answer(`${JSON.stringify(settlement)}\n`);
    else view.settled(settlement);
    if (settlement.terminal === "completed") return 0;
    return cancel.signal.aborted ? 130 : 1;
  } finally {
    ignoreSignals();
  }
}

function sayWaiting(approval: Approval, session: string, terminal: Terminal): number {
  terminal.say(
    `lichen: session ${session} waits for a person, and nobody can be asked here. It keeps waiting (until ` +
      `${approval.expiresAt}): run \`lichen start\` and answer ${approval.approvalId}, or invoke from a terminal.`,
  );
  return 1;
}
