// A host: a state directory, its store, and the agents of the given folders in it. What `lichen start` serves and what
// a command opens by itself when no host runs.

import { join } from "node:path";
import type { Models } from "@lichen/engine";
import type { Agent, Engine, Owner, Platform, Sql } from "@lichen/runtime";
import { nodePlatform } from "@lichen/runtime/node";
import type { LichenConfig } from "../folder/define-config.ts";
import type { Diagnostic } from "../folder/definition.ts";
import { agentIdOf } from "../folder/host/agent-id.ts";
import type { LoadedDefinition } from "../folder/host/agent-folder.ts";
import { type AgentPlace, findAgent } from "../folder/host/find-agent.ts";
import { type FolderAgent, openFolderAgent } from "./folder-agent.ts";
import { openStore } from "./open-store.ts";
import { hostsDir, makeStateDir, refuseStateInside, stateDirOf } from "./state-dir.ts";
import { whileWorking } from "./working-timer.ts";

export interface HostOptions {
  /** The directory pointed at. */
  readonly dir: string;
  /** `--state`. */
  readonly state?: string;
  /** `--model`; before `LICHEN_MODEL` and the config. */
  readonly model?: string;
  /** A variable of the environment; the process's own, unless told otherwise. */
  readonly env?: (name: string) => string | undefined;
  /** The same for the secrets of connections, where these are not asked of `env`. */
  readonly secretEnv?: (name: string) => string | undefined;
  readonly models?: Models;
  readonly capacity?: number;
  /** The one session whose work runs here; all of it does where it is left out. */
  readonly only?: string;
  readonly onDiagnostics?: (diagnostics: readonly Diagnostic[]) => void;
  /** Told of faults that have no caller; the host goes on. */
  readonly report: (error: unknown) => void;
  /** Told that nothing can be written any more: end the process. Where it is left out, `report` is told. */
  readonly lost?: (error: unknown) => void;
  readonly around?: Around;
}

/** What stands around a host's parts and sees all that passes: for programs that watch a host or put it to the test. */
export interface Around {
  readonly sql?: (sql: Sql) => Sql;
  readonly engine?: (engine: Engine) => Engine;
  readonly models?: (models: Models) => Models;
}

function environment(name: string): string | undefined {
  return process.env[name];
}

export interface Host {
  readonly owner: Owner;
  readonly platform: Platform;
  readonly stateDir: string;
  readonly agent: Agent;
  readonly place: AgentPlace;
  readonly config: LichenConfig;
  readonly models: Models;
  readonly diagnostics: readonly Diagnostic[];
  /** How its connections sign in. */
  auth(): ReturnType<FolderAgent["capabilities"]["auth"]>;
  /** Settles when what the folder declares is attached, or known not to be had now: as late as its servers answer. */
  readonly declared: Promise<void>;
  sandbox(): ReturnType<FolderAgent["sandbox"]>;
  sandboxOfPrograms(): ReturnType<FolderAgent["sandboxOfPrograms"]>;
  /** The folder as it stands now. */
  load(): Promise<LoadedDefinition>;
  /** The configured model, not yet looked up. */
  model(): string | undefined;
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
  const env = options.env ?? environment;
  const { place, agentId, stateDir: where } = locateHost(options);
  refuseStateInside(where, place.cwd);
  refuseStateInside(where, place.dir);
  const stateDir = makeStateDir(where);
  const model = options.model ?? (env("LICHEN_MODEL") || undefined);
  // The folder is read first, since its config decides how the store is opened and a broken one opens nothing.
  const platform = nodePlatform({
    report: options.report,
    ...(options.lost === undefined ? {} : { lost: options.lost }),
  });
  const made = await openFolderAgent({
    dir: place.dir,
    cwd: place.cwd,
    agentId,
    stateDir,
    model,
    // The states of this user's other hosts hold tokens like this one's.
    protectedPaths: [stateDir, hostsDir()],
    after: whileWorking,
    env,
    secretEnv: options.secretEnv,
    models: options.models,
    aroundModels: options.around?.models,
    onDiagnostics: options.onDiagnostics,
  });
  const aroundSql = options.around?.sql;
  const engine = options.around?.engine?.(made.engine) ?? made.engine;
  const expireAfterMs = made.config.approvals?.expireAfterMs;
  try {
    const store = await openStore(join(stateDir, "host.db"), {
      platform,
      ...(options.capacity === undefined ? {} : { capacity: options.capacity }),
      ...(options.only === undefined ? {} : { only: options.only }),
      ...(expireAfterMs === undefined ? {} : { approvalTtlMs: expireAfterMs }),
      ...(aroundSql === undefined ? {} : { aroundSql }),
    });
    try {
      const agent = await store.owner.attach({
        agent: agentId,
        name: made.folder.name,
        engine,
        model: () => made.model(),
        capabilities: made.capabilities.options,
        access: made.access,
      });
      made.capabilities.adopt(agent.capabilities);
      // Nobody waits for servers: a turn does, for a while.
      const declared = made.declare().catch((error: unknown) => options.report(error));
      return {
        owner: store.owner,
        platform,
        stateDir,
        agent,
        place,
        config: made.config,
        models: made.models,
        diagnostics: made.diagnostics,
        auth: () => made.capabilities.auth(),
        declared,
        sandbox: () => made.sandbox(),
        sandboxOfPrograms: () => made.sandboxOfPrograms(),
        load: () => made.folder.load(),
        model: () => made.model(),
        close: async (closing) => {
          await store.close(closing);
          await made.close();
        },
      };
    } catch (error) {
      await store.close({ patienceMs: 0 });
      throw error;
    }
  } catch (error) {
    await made.close();
    throw error;
  }
}
