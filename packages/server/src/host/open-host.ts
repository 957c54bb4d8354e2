// A host: a state directory, its store, and the agent of the given folder in it. What `lichen start` serves and what a
// command opens by itself when no host runs.

import { join } from "node:path";
import type { Agent, Owner, Platform } from "@lichen/runtime";
import { nodePlatform } from "@lichen/runtime/node";
import { agentIdOf } from "../folder/host/agent-id.ts";
import { type AgentPlace, findAgent } from "../folder/host/find-agent.ts";
import {
  environment,
  type HostFolder,
  type HostFolderOptions,
  openHostFolder,
} from "./host-folder.ts";
import { openStore } from "./open-store.ts";
import { stateDirOf } from "./state-dir.ts";

export interface HostOptions extends Omit<HostFolderOptions, "place" | "agentId" | "stateDir"> {
  /** The directory pointed at. */
  readonly dir: string;
  /** `--state`. */
  readonly state?: string;
  readonly capacity?: number;
  /** The one session whose work runs here; all of it does where it is left out. */
  readonly only?: string;
  /** Told that nothing can be written any more: end the process. Where it is left out, `report` is told. */
  readonly lost?: (error: unknown) => void;
}

export interface Host extends HostFolder {
  readonly owner: Owner;
  readonly platform: Platform;
  readonly agent: Agent;
  /** Settles when what the folder declares is attached, or known not to be had now: as late as its servers answer. */
  readonly declared: Promise<void>;
  close(options?: { patienceMs?: number }): Promise<void>;
}

/** Which agent a directory holds and where its state lies; opens nothing. */
export function locateHost(options: Pick<HostOptions, "dir" | "state" | "env">): {
  place: AgentPlace;
  agentId: string;
  stateDir: string;
} {
  const env = options.env ?? environment;
  const place = findAgent(options.dir, env("LICHEN_AGENT"));
  const agentId = agentIdOf(place.dir);
  const fromEnvironment = env("LICHEN_STATE_DIR");
  return {
    place,
    agentId,
    stateDir: stateDirOf({ state: options.state, fromEnvironment, agentId }),
  };
}

/** Opens the host: `unavailable` while another one owns the state, `invalid` where the folder cannot be used. */
export async function openHost(options: HostOptions): Promise<Host> {
  const { place, agentId, stateDir: where } = locateHost(options);
  // The folder is read first, since its config decides how the store is opened and a broken one opens nothing.
  const folder = await openHostFolder({ ...options, place, agentId, stateDir: where });
  const { stateDir, config } = folder;
  const platform = nodePlatform({
    report: options.report,
    ...(options.lost === undefined ? {} : { lost: options.lost }),
  });
  const aroundSql = options.around?.sql;
  const expireAfterMs = config.approvals?.expireAfterMs;
  try {
    const store = await openStore(join(stateDir, "host.db"), {
      platform,
      ...(options.capacity === undefined ? {} : { capacity: options.capacity }),
      ...(options.only === undefined ? {} : { only: options.only }),
      ...(expireAfterMs === undefined ? {} : { approvalTtlMs: expireAfterMs }),
      ...(aroundSql === undefined ? {} : { aroundSql }),
    });
    const { owner } = store;
    try {
      const { agent, declared } = await folder.attach(owner);
      const close: Host["close"] = async (closing) => {
        await store.close(closing);
        await folder.close();
      };
      return { ...folder, owner, platform, agent, declared, close };
    } catch (error) {
      await store.close({ patienceMs: 0 });
      throw error;
    }
  } catch (error) {
    await folder.close();
    throw error;
  }
}
