// What waits for a person in the sessions of a machine.

import { type Waiting, waitingIn } from "../waiting.ts";
import { type MachineSession, onlySession, type ReachedMachine } from "./reach-machine.ts";

export interface MachineWaiting extends Waiting {
  readonly of: MachineSession;
}

/** `wanted` is a session's name; what waits in all of them where it is left out. */
export async function machineWaiting(
  machine: ReachedMachine,
  wanted: string | undefined,
): Promise<MachineWaiting[]> {
  const sessions = (await machine.sessions()).filter(
    ({ name, pending }) => pending > 0 && (wanted ?? name) === name,
  );
  const found = await Promise.all(
    sessions.map(async (of) => {
      const { agent } = machine.agentOf(of);
      const waiting = await waitingIn(agent.session(onlySession));
      return waiting.map(({ approval }) => ({ session: of.name, approval, of }));
    }),
  );
  return found.flat();
}
