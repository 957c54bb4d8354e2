// A conversation on this computer's machine that one word names: a coding agent's by its session's name, and one of a
// folder's agent as `<agent>/<session>`, or as `<agent>` alone, which is its session `main`.
//
//   UP18  Both are talked to with the same commands.

import type { Session } from "@lichen/client";
import { type AgentInfo, Fault } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import type { ReachedAgent } from "../reach-agent.ts";
import { commandName, quoted } from "../typed.ts";
import { type MachineSession, onlySession, type ReachedMachine } from "./reach-machine.ts";

export interface Conversation {
  /** As people call it: the word that means it. */
  readonly name: string;
  readonly reached: ReachedAgent;
  readonly session: Session;
  /** Why it cannot be started. */
  readonly missing?: string | undefined;
  /** Of an agent of a folder. */
  readonly isOfFolder: boolean;
}

/** `patienceMs` is how long a request waits for a machine that restarts. */
export interface ConversationOptions {
  readonly patienceMs?: number;
}

/** Undefined where the word names none; `invalid` where it names two. */
export async function findConversation(
  machine: ReachedMachine,
  word: string,
  options: ConversationOptions = {},
): Promise<Conversation | undefined> {
  const coding = await machine.find(word);
  const agents = await machine.folderAgents();
  const meant = agentsCalled(agents, word);
  if (coding && meant.length > 0) throw twice(word);
  if (coding) return ofCodingAgent(machine, coding, options);
  const at = word.indexOf("/");
  if (meant.length === 0 && at > 0) meant.push(...agentsCalled(agents, word.slice(0, at)));
  const [agent, another] = meant;
  if (!agent) return undefined;
  if (another) throw several(word, meant);
  const isAlone = [agent.name, agent.agent].includes(word);
  const session = isAlone ? onlySession : word.slice(at + 1);
  if (session === "") return undefined;
  const reached = machine.agentOf({ id: agent.agent }, options);
  return {
    name: conversationName(agent, session, agents),
    reached,
    session: reached.agent.session(session),
    isOfFolder: true,
  };
}

/** The same; `unknown_session` where the word names none. */
export async function getConversation(
  machine: ReachedMachine,
  word: string,
  options?: ConversationOptions,
): Promise<Conversation> {
  const found = await findConversation(machine, word, options);
  if (found) return found;
  throw machine.unknown(word);
}

/** Whether anything was said in it yet: only the first of a folder's agent need not be there. Else `unknown_session`. */
export async function isBegun({ name, session, isOfFolder }: Conversation): Promise<boolean> {
  if (!isOfFolder) return true;
  try {
    await session.read({ limit: 1 });
    return true;
  } catch (cause) {
    if (!Fault.is(cause) || cause.code !== "unknown_session") throw cause;
    if (session.id === onlySession) return false;
    throw new Fault(
      cause.code,
      `There is no conversation ${oneLine(name, 256)}: \`${commandName()} send ${quoted(name)} "…" --new\` begins it.`,
      { cause },
    );
  }
}

/** The word that means a conversation of a folder's agent; two of one name are called by their ids. */
export function conversationName(
  { agent, name }: AgentInfo,
  session: string,
  agents: readonly AgentInfo[],
): string {
  const own = agents.some((it) => it.name === name && it.agent !== agent) ? agent : name;
  return session === onlySession ? own : `${own}/${session}`;
}

function ofCodingAgent(
  machine: ReachedMachine,
  coding: MachineSession,
  options: ConversationOptions,
): Conversation {
  const reached = machine.agentOf(coding, options);
  const session = reached.agent.session(onlySession);
  const { name, missing } = coding;
  return { name, reached, session, missing, isOfFolder: false };
}

function agentsCalled(agents: readonly AgentInfo[], word: string): AgentInfo[] {
  const byId = agents.filter(({ agent }) => agent === word);
  return byId.length > 0 ? byId : agents.filter(({ name }) => name === word);
}

function twice(word: string): Fault {
  return new Fault(
    "invalid",
    `Two are called ${oneLine(word, 100)} on this machine: a coding agent's session, and the agent of a folder. Say ` +
      `${quoted(`${word}/${onlySession}`)} for the folder's; the session has to take another name: \`${commandName()} rename ${quoted(word)} <name>\`.`,
  );
}

function several(word: string, agents: readonly AgentInfo[]): Fault {
  return new Fault(
    "invalid",
    `Several agents of folders are called ${oneLine(word, 100)}: say which by its id: ${agents.map(({ agent }) => agent).join(", ")}.`,
  );
}
