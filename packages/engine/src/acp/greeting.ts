// The beginning with a process of an agent: what it can do, and the conversation that goes on or begins.
//
//   - The conversation's id is durable before the first prompt.
//   - A conversation that the agent cannot go back to is never replaced in silence.

import { type InitializeRequest, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import type { EngineHost } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { secretsOf } from "../harness/last-words.ts";
import { diagnosticOf } from "../model/diagnostic.ts";
import type { HarnessOptions } from "../harness/port.ts";
import { authRequired, errorOf, type Link, notFound } from "./link.ts";
import { lineOf } from "./message.ts";
import { type AgentFacts, factsOf, type OpenedSession, openedOf } from "./wire.ts";

const hello: InitializeRequest = {
  protocolVersion: PROTOCOL_VERSION,
  clientInfo: { name: "lichen", title: "Lichen", version: "1" },
  clientCapabilities: {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    elicitation: { form: {} },
    session: { notices: {}, compaction: {} },
  },
};

export interface Greeted {
  readonly facts: AgentFacts;
  readonly sessionId: string;
  readonly opened: OpenedSession;
  /** It is a conversation that went on before. */
  readonly isContinued: boolean;
}

export interface Greeter {
  readonly link: Link;
  readonly host: EngineHost;
  readonly options: Pick<HarnessOptions, "dir" | "command" | "env">;
  /** Nothing was said in the conversation so far: another one is as good. */
  readonly isUnused: boolean;
}

export async function greet(it: Greeter): Promise<Greeted> {
  const facts = await initialized(it);
  const known = it.host.harness().conversation?.id;
  const way = facts.resumes ? "resume" : facts.loads ? "load" : undefined;
  if (known !== undefined && way) {
    const opened = await reopened(it, facts, known, way);
    if (opened) return { facts, sessionId: known, opened, isContinued: true };
  } else if (known !== undefined && !it.isUnused) {
    const text = `${nameOf(facts, it)} cannot go back to a conversation: it begins anew and knows nothing of what was said before.`;
    await it.host.record([lineOf({ notice: text })]);
  }
  const { dir: cwd } = it.options;
  const answer = await asked(it, facts, methods.agent.session.new, { cwd, mcpServers: [] });
  const opened = openedOf(answer);
  const { sessionId } = opened;
  if (sessionId === undefined) throw broken(it, "it named no session");
  await it.host.record([{ kind: "harness.conversation", data: { conversation: sessionId } }]);
  return { facts, sessionId, opened, isContinued: false };
}

async function initialized(it: Greeter): Promise<AgentFacts> {
  const answer = await it.link.request(methods.agent.initialize, hello).catch((error: unknown) => {
    throw refusedBy(it, error);
  });
  const facts = factsOf(answer);
  if (!facts) throw broken(it, "its answer to `initialize` is none of the protocol's");
  if (facts.protocolVersion !== PROTOCOL_VERSION)
    throw new Fault(
      "unavailable",
      `${nameOf(facts, it)} speaks version ${facts.protocolVersion} of the Agent Client Protocol, and Lichen version ${PROTOCOL_VERSION}: update the older of the two.`,
      { retryable: false },
    );
  return facts;
}

/** The conversation again; nothing where the agent knows it no more and nothing was said in it. */
async function reopened(
  it: Greeter,
  facts: AgentFacts,
  sessionId: string,
  way: "resume" | "load",
): Promise<OpenedSession | undefined> {
  const { dir: cwd } = it.options;
  try {
    const params = { sessionId, cwd, mcpServers: [] };
    return openedOf(await asked(it, facts, methods.agent.session[way], params));
  } catch (error) {
    const code = Fault.is(error) ? errorOf(error.cause).code : undefined;
    const isUnknown = code === notFound || code === -32_602;
    if (!isUnknown) throw error;
    if (it.isUnused) return undefined;
    throw new Fault(
      "unavailable",
      `${nameOf(facts, it)} does not know conversation ${sessionId} any more: begin a new conversation.`,
      { cause: error, retryable: false },
    );
  }
}

async function asked(
  it: Greeter,
  facts: AgentFacts,
  method: string,
  params: object,
): Promise<unknown> {
  try {
    return await it.link.request(method, params);
  } catch (error) {
    throw errorOf(error).code === authRequired ? signInFirst(it, facts) : refusedBy(it, error);
  }
}

/** What to do where the agent wants an account. */
export function signInFirst(it: Pick<Greeter, "options">, facts: AgentFacts): Fault {
  const ways = facts.signIns.map(({ name, how }) => (how ? `${name} (${how})` : name));
  const how = ways.length > 0 ? ` It offers: ${ways.join("; ")}.` : "";
  return new Fault(
    "unavailable",
    `${nameOf(facts, it)} wants you to sign in.${how} Sign in with it in a terminal on this computer, then send the message again.`,
    { retryable: false },
  );
}

/** The agent's own refusal in words; what is no answer of it stays as it is. */
function refusedBy(it: Greeter, error: unknown): unknown {
  const { code, message } = errorOf(error);
  if (code === undefined) return error;
  const words = `${programOf(it.options)} refused to begin: ${diagnosticOf(message, secretsOf(it.options.env))}`;
  return new Fault("unavailable", words, { cause: error });
}

function broken(it: Greeter, why: string): Fault {
  return new Fault(
    "unavailable",
    `${programOf(it.options)} is no agent of the Agent Client Protocol, or a broken one: ${why}. Look whether its command wants a flag, like --acp.`,
    { retryable: false },
  );
}

function nameOf(facts: AgentFacts, { options }: Pick<Greeter, "options">): string {
  return facts.name ?? programOf(options);
}

/** The program without the path to it. */
export function programOf(options: Pick<HarnessOptions, "command">): string {
  return options.command[0]?.split("/").at(-1) ?? "The agent";
}
