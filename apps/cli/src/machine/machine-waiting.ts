// What waits for a person on a machine: in the sessions of its coding agents, and in conversations of folders' agents.

import type { ReachedAgent } from "../reach-agent.ts";
import { allWaiting, type Waiting, waitingIn } from "../waiting.ts";
import { conversationName, findConversation } from "./conversation.ts";
import { onlySession, type ReachedMachine } from "./reach-machine.ts";

/** `session` is how people call it. */
export interface MachineWaiting extends Waiting {
  readonly reached: ReachedAgent;
  /** Its session's id. */
  readonly id: string;
}

/** `wanted` names one conversation; what waits in all of them where it is left out. */
export async function machineWaiting(
  machine: ReachedMachine,
  wanted: string | undefined,
): Promise<MachineWaiting[]> {
  if (wanted !== undefined) {
    const meant = await findConversation(machine, wanted);
    if (!meant) return [];
    const { name, reached, session } = meant;
    return (await waitingIn(session)).map(({ approval }) => ({
      ...{ session: name, approval, reached, id: session.id },
    }));
  }
  const [sessions, agents] = await Promise.all([machine.sessions(), machine.folderAgents()]);
  const found = await Promise.all([
    ...sessions
      .filter(({ pending }) => pending > 0)
      .map(async (of) => {
        const reached = machine.agentOf(of);
        const waiting = await waitingIn(reached.agent.session(onlySession));
        return waiting.map(({ approval }) => ({
          ...{ session: of.name, approval, reached, id: onlySession },
        }));
      }),
    ...agents.map(async (agent) => {
      const reached = machine.agentOf({ id: agent.agent });
      return (await allWaiting(reached.agent)).map(({ session: id, approval }) => ({
        ...{ session: conversationName(agent, id, agents), approval, reached, id },
      }));
    }),
  ]);
  return found.flat();
}
