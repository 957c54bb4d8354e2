// The conversations of folders' agents that `lichen ps` shows: of each agent the first one, whether it has begun or not,
// and every other in which something goes on or waits.

import type { SessionInfo } from "@lichen/wire";
import { allSessions } from "../all-sessions.ts";
import { conversationName } from "./conversation.ts";
import { keptFolders } from "./kept-folders.ts";
import { onlySession, type ReachedMachine } from "./reach-machine.ts";

/** In the words of the list of coding agents' sessions. */
export interface FolderTalk {
  /** The word that means it. */
  readonly name: string;
  readonly agent: string;
  readonly session: string;
  readonly harness: string;
  readonly dir: string;
  readonly state: "idle" | "working" | "waiting";
  readonly pending: number;
  /** Null where nothing was said yet. */
  readonly last_time: string | null;
  readonly preview: string;
  /** How many conversations of its agent are not shown; with the first one. */
  readonly more: number;
}

export async function folderTalks(machine: ReachedMachine): Promise<FolderTalk[]> {
  const agents = await machine.folderAgents();
  const folders = machine.isElsewhere ? [] : keptFolders(machine.stateDir);
  const found = await Promise.all(
    agents.map(async (agent): Promise<FolderTalk[]> => {
      const sessions = await allSessions(machine.agentOf({ id: agent.agent }).agent);
      const first = sessions.find(({ session }) => session === onlySession);
      const others = sessions.filter((it) => it !== first && isAlive(it));
      const common = {
        agent: agent.agent,
        harness: agent.engine,
        dir: folders.find(({ id }) => id === agent.agent)?.cwd ?? "",
      };
      const idle = sessions.length - others.length - (first ? 1 : 0);
      return [
        {
          ...common,
          name: conversationName(agent, onlySession, agents),
          session: onlySession,
          ...(first ? standing(first) : nothingYet),
          more: Math.max(0, idle),
        },
        ...others.map((it) => ({
          ...common,
          name: conversationName(agent, it.session, agents),
          session: it.session,
          ...standing(it),
          more: 0,
        })),
      ];
    }),
  );
  return found.flat();
}

const nothingYet = { state: "idle", pending: 0, last_time: null, preview: "" } as const;

function isAlive({ state, approvals, pending }: SessionInfo): boolean {
  return state !== "idle" || approvals > 0 || pending > 0;
}

function standing({ state, approvals, lastAt, title, preview }: SessionInfo) {
  const word = approvals > 0 || state === "waiting" ? "waiting" : "working";
  return {
    state:
      approvals === 0 && state === "idle" ? ("idle" as const) : (word as "waiting" | "working"),
    pending: approvals,
    last_time: lastAt,
    preview: preview ?? title ?? "",
  };
}
