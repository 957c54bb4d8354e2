// The agent of a folder as a host serves it: read first, since its config decides how a store of its own is opened and a
// broken one opens nothing; then attached to a store, which may hold other agents too.

import type { Models } from "@lichen/engine";
import type { Agent, Engine, Owner, Sql } from "@lichen/runtime";
import type { LichenConfig } from "../folder/define-config.ts";
import type { Diagnostic } from "../folder/definition.ts";
import type { LoadedDefinition } from "../folder/host/agent-folder.ts";
import type { AgentPlace } from "../folder/host/find-agent.ts";
import { type Beside, type FolderAgent, openFolderAgent } from "./folder-agent.ts";
import { hostsDir, makeStateDir, refuseStateInside } from "./state-dir.ts";
import { whileWorking } from "./working-timer.ts";

export interface HostFolderOptions {
  readonly place: AgentPlace;
  /** The agent's id in its store. */
  readonly agentId: string;
  /** Where the host keeps its state; made here where it is missing. */
  readonly stateDir: string;
  /** `--model`; before `LICHEN_MODEL` and the config. */
  readonly model?: string;
  /** A variable of the environment; the process's own, unless told otherwise. */
  readonly env?: (name: string) => string | undefined;
  /** The same for the secrets of connections, where these are not asked of `env`. */
  readonly secretEnv?: (name: string) => string | undefined;
  readonly models?: Models;
  /** What the host keeps for its other agents. */
  readonly beside?: Beside;
  readonly onDiagnostics?: (diagnostics: readonly Diagnostic[]) => void;
  /** Told of faults that have no caller; the host goes on. */
  readonly report: (error: unknown) => void;
  readonly around?: Around;
}

/** What stands around a host's parts and sees all that passes: for programs that watch a host or put it to the test. */
export interface Around {
  readonly sql?: (sql: Sql) => Sql;
  readonly engine?: (engine: Engine) => Engine;
  readonly models?: (models: Models) => Models;
}

/** What a host knows of the folder of an agent that it serves. */
export interface HostFolder {
  readonly stateDir: string;
  readonly place: AgentPlace;
  readonly config: LichenConfig;
  readonly models: Models;
  readonly diagnostics: readonly Diagnostic[];
  /** How its connections sign in. */
  auth(): ReturnType<FolderAgent["capabilities"]["auth"]>;
  sandbox(): ReturnType<FolderAgent["sandbox"]>;
  sandboxOfPrograms(): ReturnType<FolderAgent["sandboxOfPrograms"]>;
  /** The modules that were loaded for it or looked for, wherever they lie: there or not yet. */
  loaded(): readonly string[];
  /** The folder as it stands now. */
  load(): Promise<LoadedDefinition>;
  /** The configured model, not yet looked up. */
  model(): string | undefined;
}

export interface OpenHostFolder extends HostFolder {
  /** Makes it an agent of a store: what an earlier process left of it goes on. */
  attach(owner: Owner): Promise<Attached>;
  /** Once the store is closed. */
  close(): Promise<void>;
}

export interface Attached {
  readonly agent: Agent;
  /** Settles when what the folder declares is attached, or known not to be had now: as late as its servers answer. */
  readonly declared: Promise<void>;
}

export function environment(name: string): string | undefined {
  return process.env[name];
}

/** Throws `invalid` where the folder cannot be used, or its agent could read the state. */
export async function openHostFolder(options: HostFolderOptions): Promise<OpenHostFolder> {
  const { place, agentId, around, report, env = environment } = options;
  refuseStateInside(options.stateDir, place.cwd);
  refuseStateInside(options.stateDir, place.dir);
  const stateDir = makeStateDir(options.stateDir);
  const made = await openFolderAgent({
    dir: place.dir,
    cwd: place.cwd,
    agentId,
    stateDir,
    model: options.model ?? (env("LICHEN_MODEL") || undefined),
    // The states of this user's other hosts hold tokens like this one's.
    protectedPaths: [stateDir, hostsDir()],
    after: whileWorking,
    env,
    secretEnv: options.secretEnv,
    models: options.models,
    aroundModels: around?.models,
    beside: options.beside,
    onDiagnostics: options.onDiagnostics,
  });
  const { config, models, diagnostics, capabilities, folder, access } = made;
  return {
    ...{ stateDir, place, config, models, diagnostics },
    auth: () => capabilities.auth(),
    sandbox: () => made.sandbox(),
    sandboxOfPrograms: () => made.sandboxOfPrograms(),
    loaded: () => folder.loaded,
    load: () => folder.load(),
    model: () => made.model(),
    attach: async (owner) => {
      const agent = await owner.attach({
        agent: agentId,
        name: folder.name,
        engine: around?.engine?.(made.engine) ?? made.engine,
        model: () => made.model(),
        capabilities: capabilities.options,
        access,
      });
      capabilities.adopt(agent.capabilities);
      // Nobody waits for servers: a turn does, for a while.
      return { agent, declared: made.declare().catch((error: unknown) => report(error)) };
    },
    close: () => made.close(),
  };
}
