// What the sessions of a machine's agents are called, for lines about any of them.

import { type AgentInfo, Fault, type SessionInfo } from "@lichen/wire";
import { conversationName } from "./conversation.ts";
import type { ReachedMachine } from "./reach-machine.ts";

type Known = Pick<SessionInfo, "agent" | "session">;

export class TalkNames {
  readonly #machine: ReachedMachine;
  readonly #coding = new Map<string, string>();
  #folders: readonly AgentInfo[] = [];

  constructor(machine: ReachedMachine) {
    this.#machine = machine;
  }

  /** Asks the machine where one of them is of an agent that is not known; one that is away is asked another time. */
  async learn(infos: readonly Known[]): Promise<void> {
    if (infos.every(({ agent }) => this.#coding.has(agent) || this.#folder(agent))) return;
    try {
      const [sessions, folders] = await Promise.all([
        this.#machine.sessions(),
        this.#machine.folderAgents(),
      ]);
      for (const { id, name } of sessions) this.#coding.set(id, name);
      this.#folders = folders;
    } catch (error) {
      if (!Fault.is(error)) throw error;
    }
  }

  of({ agent, session }: Known): string {
    const folder = this.#folder(agent);
    return folder
      ? conversationName(folder, session, this.#folders)
      : (this.#coding.get(agent) ?? `${agent}/${session}`);
  }

  #folder(agent: string): AgentInfo | undefined {
    return this.#folders.find((it) => it.agent === agent);
  }
}
