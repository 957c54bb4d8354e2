// The agent that a command line means, to be spoken to: in the host that serves it, or in the store opened here.

import type { Agent } from "@lichen/runtime";
import { connectHost } from "@lichen/server/node";
import { Fault, SessionInfo } from "@lichen/wire";
import type { Input } from "./command.ts";
import { HostLink } from "./host-link.ts";
import { openLog } from "./log.ts";
import { openOwnHost } from "./own-host.ts";
import { onlyHost, type Place, placeOf, type Reached } from "./place.ts";
import { type Conversation, RemoteSession } from "./remote-session.ts";
import type { Terminal } from "./terminal.ts";

type Page = Awaited<ReturnType<Agent["sessions"]>>;

export interface ReachedAgent {
  /** Others can reach its sessions while they run: through the host that serves them. */
  readonly isShared: boolean;
  session(id: string): Conversation;
  sessions(page: { limit: number; before?: string }): Promise<Page>;
  /** Makes a session, on this model. */
  create(options: { requestId: string; session: string; model: string }): Promise<unknown>;
  close(): Promise<void>;
}

export async function reachAgent(input: Input, terminal: Terminal): Promise<ReachedAgent> {
  const found = await find(input);
  if ("address" in found) return served(found, terminal);
  const connection = await connectHost(found.stateDir);
  if (connection.found === "host") {
    const { agentId: agent, stateDir } = found;
    return served({ address: connection, agent, stateDir }, terminal);
  }
  if (connection.found === "stranger") {
    terminal.say(
      `what listens at ${connection.url} is not this agent's host; nothing was told to it`,
    );
  }
  const host = await openOwnHost(found, { log: openLog(terminal, "info") });
  return {
    isShared: false,
    session: (id) => host.agent.session(id),
    sessions: (page) => host.agent.sessions(page),
    create: (options) => host.agent.create(options),
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

function served({ address, agent, stateDir }: Reached, terminal: Terminal): ReachedAgent {
  let first: Reached["address"] | undefined = address;
  const reach = async () => {
    const known = first;
    first = undefined;
    if (known !== undefined) return known;
    const connection = await connectHost(stateDir);
    return connection.found === "host" ? connection : undefined;
  };
  const onBreak = () => terminal.say("the host went away; waiting for it to come back");
  const link = new HostLink(reach, { onBreak });
  const sessions = `/agents/${encodeURIComponent(agent)}/sessions`;
  return {
    isShared: true,
    session: (id) => new RemoteSession(link, agent, id),
    async sessions({ limit, before }) {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(before === undefined ? {} : { before }),
      });
      const response = await link.request(`${sessions}?${query.toString()}`);
      const { next, ...found } = (await response.json()) as { sessions: unknown; next?: string };
      const known = SessionInfo.array().parse(found.sessions);
      return { sessions: known, ...(next === undefined ? {} : { next }) };
    },
    create: (options) => link.request(sessions, { method: "POST", body: options }),
    close: async () => undefined,
  };
}
