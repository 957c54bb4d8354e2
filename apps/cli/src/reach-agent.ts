// The agent that a command line means, to be spoken to: in the host that serves it, or in the store opened here.

import { setTimeout as wait } from "node:timers/promises";
import { type Agent, type Client, createClient, localClient } from "@lichen/client";
import { connectHost } from "@lichen/server/node";
import { isHeld } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";
import { allSessions } from "./all-sessions.ts";
import type { Input } from "./command.ts";
import { isDirectory } from "./folder-word.ts";
import { HostFetch } from "./host-fetch.ts";
import { openLog } from "./log.ts";
import { machineDirOf } from "./machine/machine-dir.ts";
import { openOwnHost } from "./own-host.ts";
import { onlyHost, type Place, placeOf, type Reached } from "./place.ts";
import { oneLine } from "./printable.ts";
import { Problems } from "./problem.ts";
import type { Terminal } from "./terminal.ts";
import { commandName } from "./typed.ts";

export interface ReachedAgent {
  /** Others can reach its sessions while they run: through the host that serves them. */
  readonly isShared: boolean;
  /** Of the running host, or of the one opened here. */
  readonly client: Client;
  /** The client's agent that the command line means. */
  readonly agent: Agent;
  /** The state directory of its host. */
  readonly stateDir: string;
  close(): Promise<void>;
}

export interface ReachOptions {
  /**
   * How long a request waits for a host that went away; the person is told once per break. 0: it fails at once with a
   * retryable `unavailable`, nothing is said, and watches connect again as soon as the host is back.
   */
  readonly patienceMs?: number;
  /** Where the store is opened here, nothing in it runs: what is queued, and what a host left, stays as it is. */
  readonly atRest?: boolean;
  /** Where the store is opened here, what the folder's connections lend is waited for, as a turn would. */
  readonly declared?: boolean;
  /** Where the store is opened here, this session's work alone runs in it: what is of others stays as it is. */
  readonly only?: string;
}

/** Less than the client's own time for an answer, so that it is told why none came. */
const defaultPatienceMs = 25_000;
/** How long a store that another process holds is waited for. */
const storeMs = 10_000;
const storePauseMs = 100;
/** From here on the person is told. */
const noticeMs = 1_500;
/** How long the servers of the folder's connections are waited for. */
const declaredMs = 10_000;

/** Throws a `Fault` where no agent can be found, or its store is held by a process that does not answer. */
export async function reachAgent(
  input: Input,
  terminal: Terminal,
  options: ReachOptions = {},
): Promise<ReachedAgent> {
  const found = await find(input);
  if (!("dir" in found)) return served(found, terminal, options);
  const began = performance.now();
  let isTold = false;
  for (let isFirst = true; ; isFirst = false) {
    const connection = await connectHost(found.stateDir);
    if (connection.found === "host") {
      const { agentId: agent, stateDir } = found;
      return served({ agent, stateDir }, terminal, options);
    }
    if (connection.found === "stranger" && isFirst) {
      terminal.say(
        `what listens at ${connection.url} is not this agent's host; nothing was told to it`,
      );
    }
    try {
      return await opened(found, terminal, options);
    } catch (error) {
      // Another command may hold the store for a moment, and a host that starts holds it before it listens.
      if (!isHeld(error) || connection.found === "tokenless") throw error;
      const waitedMs = performance.now() - began;
      if (waitedMs > storeMs) throw error;
      if (waitedMs > noticeMs && !isTold) {
        terminal.say("another process has this agent's store open; waiting for it to end");
        isTold = true;
      }
    }
    await wait(storePauseMs);
  }
}

async function opened(
  place: Place,
  terminal: Terminal,
  { atRest = false, declared = false, only }: ReachOptions,
): Promise<ReachedAgent> {
  const log = openLog(terminal, "info");
  const host = await openOwnHost(place, {
    log,
    ...(atRest ? { capacity: 0 } : {}),
    ...(only === undefined ? {} : { only }),
  });
  if (declared) {
    new Problems(log).tell(host.diagnostics);
    await within(declaredMs, host.declared);
  }
  const client = localClient(host.owner);
  const agent = client.agent(place.agentId);
  return {
    isShared: false,
    client,
    agent,
    stateDir: place.stateDir,
    async close() {
      const others = atRest ? [] : await stillRunning(agent, only).catch(() => []);
      await host.close({ patienceMs: 0 });
      if (others.length > 0)
        terminal.say(
          `what else ran here goes on at the next \`lichen start\`: session ${others.map((id) => oneLine(id, 256)).join(", ")}`,
        );
    },
  };
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const waiting = new AbortController();
  const late = wait(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([work, late]);
  waiting.abort();
}

/** The sessions whose run ends with this process. */
async function stillRunning(agent: Agent, only: string | undefined): Promise<string[]> {
  return (await allSessions(agent))
    .filter(({ session, state }) => state === "running" && (only ?? session) === session)
    .map(({ session }) => oneLine(session, 64));
}

/** The same, by the host that serves it alone, whether it runs now or only later: no store is opened here. */
export async function reachServed(
  input: Input,
  terminal: Terminal,
  options: Pick<ReachOptions, "patienceMs">,
): Promise<ReachedAgent> {
  const found = await find(input);
  if (!("dir" in found)) return served(found, terminal, options);
  const { agentId: agent, stateDir } = found;
  return served({ agent, stateDir }, terminal, options);
}

/** The place a command line means; away from all agent folders, the one host that runs. */
async function find(input: Input): Promise<Place | Reached> {
  try {
    return await placeOf(input);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    const dir = input.argument("dir");
    if (dir !== undefined) throw isDirectory(dir) ? error : notFolder(dir, error);
    const reached = await onlyHost(input);
    if (reached !== undefined) return reached;
    const isMachine = (await connectHost(machineDirOf(input))).found === "host";
    throw new Fault(
      error.code,
      isMachine
        ? `${error.message} And this computer's machine serves no agent of a folder: \`${commandName()} ps\` lists its sessions, \`${commandName()} up <folder>\` serves one.`
        : `${error.message} And nothing runs on this computer that could be meant: \`${commandName()} up\` starts its machine, \`${commandName()} start <folder>\` an agent.`,
      { cause: error },
    );
  }
}

/** Words that were not quoted look like a text and a folder. */
function notFolder(word: string, cause: Fault): Fault {
  return new Fault(
    "invalid",
    `"${oneLine(word, 100)}" is no folder, and the last word is to be that of an agent: quote a text that has spaces.`,
    { cause },
  );
}

/** An agent of a host on this computer, or of one that `reach` finds, through its restarts. */
export function served(
  { agent, stateDir, reach = () => connectHost(stateDir) }: Reached,
  terminal: Terminal,
  { patienceMs = defaultPatienceMs }: ReachOptions,
): ReachedAgent {
  const host = new HostFetch({
    reach,
    patienceMs,
    onBreak: () => terminal.say("the host went away; waiting for it to come back"),
    onReturn: () => client.wake(),
  });
  const client = createClient({ url: host.url, fetch: host.fetch });
  const close = async () => host.close();
  return { isShared: true, client, agent: client.agent(agent), stateDir, close };
}
