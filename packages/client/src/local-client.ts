// A client of an owner in this process: the same contract, without a network.

import { Fault, type AgentInfo } from "@lichen/wire";
import type { Agent, Back, Client, HostFrame, Outage, WatchOptions } from "./api.ts";

type LocalFrame = Exclude<HostFrame, Outage | Back>;

/** What an owner of agents must offer; a runtime's owner does. */
export interface LocalOwner {
  agents(): readonly Agent[];
  agent(name: string): Agent | undefined;
  observeHost(
    sink: { frame(frame: LocalFrame): boolean; end(reason: "deleted" | "closed"): void },
    options?: { after?: string },
  ): { resume(): void; close(): void };
}

/** `agent(name)` refuses at once with `unknown_agent` what a client across the network refuses at the first question. */
export function localClient(owner: LocalOwner): Client {
  return {
    agents: (): Promise<AgentInfo[]> => Promise.all(owner.agents().map((agent) => agent.info())),
    agent: (name) => {
      const agent = owner.agent(name);
      if (agent) return agent;
      throw new Fault("unknown_agent", `There is no agent "${name}" here.`);
    },
    watchHost: (options = {}) => watchLocal(owner, options),
  };
}

async function* watchLocal(
  owner: LocalOwner,
  { after, signal }: WatchOptions,
): AsyncGenerator<HostFrame, void, undefined> {
  const frames: LocalFrame[] = [];
  let isOver = signal?.aborted === true;
  let changed = Promise.withResolvers<void>();
  const tell = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  const stop = (): void => {
    isOver = true;
    tell();
  };
  const subscription = owner.observeHost(
    {
      frame: (frame) => {
        frames.push(frame);
        tell();
        return false;
      },
      end: stop,
    },
    after === undefined ? {} : { after },
  );
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      const frame = signal?.aborted ? undefined : frames.shift();
      if (frame) yield frame;
      else if (isOver) return;
      else {
        const next = changed.promise;
        subscription.resume();
        if (frames.length === 0 && !isOver) await next;
      }
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    subscription.close();
  }
}
