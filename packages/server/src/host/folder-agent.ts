// An agent's folder, made live: what the model engine is told before each run, and what it runs with.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type After,
  createModelEngine,
  createModels,
  type Models,
  type Tool,
} from "@lichen/engine";
import { createCodingTools, fileCredentials, openSandbox, type Sandbox } from "@lichen/engine/node";
import type { AccessRules, Engine } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import {
  connectionCredentials,
  type NodeCapabilities,
  nodeCapabilities,
} from "../capabilities/host/node-capabilities.ts";
import { Offer } from "../capabilities/host/offer.ts";
import type { LichenConfig } from "../folder/define-config.ts";
import type { Diagnostic } from "../folder/definition.ts";
import { AgentFolder } from "../folder/host/agent-folder.ts";
import { findAgent, realDirectory } from "../folder/host/find-agent.ts";
import { compileCaches } from "./compile-cache.ts";
import { guardedPlaces, ownHome } from "./guarded-places.ts";
import { credentialsPath, hostsDir, programHomesDir } from "./state-dir.ts";

/** Agents of other folders in the same host, whose code it runs too. */
export interface Beside {
  /** What is theirs and read-only for an agent that works in `cwd` (a real path): absolute paths, there or not yet. */
  readonly readOnly: (cwd: string) => readonly string[];
  /** Their secrets. */
  readonly secrets: readonly string[];
}

export interface FolderAgentOptions {
  /** The directory pointed at. */
  readonly dir: string;
  /** `LICHEN_AGENT`. */
  readonly named?: string | undefined;
  readonly cwd?: string | undefined;
  /** Comes before the config's model. */
  readonly model?: string | undefined;
  /** The agent's id in its store. */
  readonly agentId: string;
  /** Where the state lies, for what stands beside the store. */
  readonly stateDir: string;
  /** Where the state lies: closed to the agent's tools. */
  readonly protectedPaths: readonly string[];
  readonly after: After;
  /** A variable of the environment. */
  readonly env: (name: string) => string | undefined;
  /** The same for the secrets of connections, which are looked for in `.secrets/.env` after it; `env` where left out. */
  readonly secretEnv?: ((name: string) => string | undefined) | undefined;
  readonly models?: Models | undefined;
  /** Stands between the engine and the models. */
  readonly aroundModels?: ((models: Models) => Models) | undefined;
  /** What the host keeps for its other agents. */
  readonly beside?: Beside | undefined;
  /** Told when what is wrong with the folder changes. */
  readonly onDiagnostics?: ((diagnostics: readonly Diagnostic[]) => void) | undefined;
}

export interface FolderAgent {
  readonly folder: AgentFolder;
  readonly engine: Engine;
  readonly models: Models;
  readonly config: LichenConfig;
  /** What the agent's capabilities are made from: to be adopted once the agent is attached. */
  readonly capabilities: NodeCapabilities;
  /** Its rules about calls of capabilities, as the folder has them now. */
  readonly access: AccessRules;
  /** Attaches what the folder declares; settles when all of it is attached, or known not to be had now. */
  declare(): Promise<void>;
  close(): Promise<void>;
  /** What the folder's reading found when it was opened. */
  readonly diagnostics: readonly Diagnostic[];
  /** What stands around `bash`; undefined where the agent has no coding tools. */
  sandbox(): Sandbox | undefined;
  /** What stands around programs of connections; refuses where the config requires a wall that cannot be had. */
  sandboxOfPrograms(): Promise<Sandbox>;
  /** The model that new runs take by default. */
  model(): string | undefined;
}

/** Opens the folder. Throws a `Fault` where its config or models.json cannot be used. */
export async function openFolderAgent(options: FolderAgentOptions): Promise<FolderAgent> {
  const place = findAgent(options.dir, options.named);
  const cwd = options.cwd === undefined ? place.cwd : realDirectory(options.cwd);
  const { beside } = options;
  const walls = new Walls(cwd, options.protectedPaths, [
    ...[join(place.dir, ".secrets"), join(cwd, ".secrets")],
    ...(beside?.secrets ?? []),
  ]);
  const withOthers = (own: readonly string[]): readonly string[] =>
    beside ? [...new Set([...own, ...beside.readOnly(cwd)])] : own;
  const guarded = (from: string) => guardedPlaces(ownHome(), from);
  const capabilities = nodeCapabilities({
    folder: place.dir,
    agentId: options.agentId,
    credentials: connectionCredentials(options.stateDir),
    homes: join(programHomesDir(), options.agentId),
    env: options.secretEnv ?? options.env,
    protectedPaths: [
      ...[...options.protectedPaths, join(place.dir, ".secrets")],
      ...(beside?.secrets ?? []),
    ],
    sandbox: () => walls.forPrograms(),
    readOnly: () => withOthers(opened?.readOnlyParts ?? [place.dir]),
    guarded,
  });
  const offer = new Offer(capabilities, options.after);
  let opened: AgentFolder | undefined;
  const folder = await AgentFolder.open(place.dir, {
    cwd,
    protectedPaths: options.protectedPaths,
    codingTools: (config) =>
      walls.codingTools(config, () => withOthers(opened?.readOnly ?? [place.dir])),
  });
  opened = folder;
  try {
    const first = await folder.load();
    const own =
      options.models ??
      createModels({
        ...(first.modelsJson === undefined ? {} : { modelsJson: first.modelsJson }),
        env: options.env,
        credentials: fileCredentials(credentialsPath()),
        after: options.after,
      });
    const models = options.aroundModels?.(own) ?? own;
    let config = first.definition.config;
    let modelsJson = first.modelsJson;
    let endpoints: readonly Diagnostic[] = [];
    let told = JSON.stringify(first.diagnostics);
    /** The folder as it stands now: its endpoints are in use and what is wrong with it is told. */
    const read = async () => {
      const now = await folder.load();
      config = now.definition.config;
      if (now.modelsJson !== modelsJson) {
        modelsJson = now.modelsJson;
        endpoints = takeEndpoints(models, modelsJson);
      }
      const diagnostics = [...endpoints, ...now.diagnostics, ...offer.diagnostics];
      const found = JSON.stringify(diagnostics);
      if (found !== told) options.onDiagnostics?.(diagnostics);
      told = found;
      return now.definition;
    };
    const defaults = () => {
      const model = options.model ?? config.model;
      return {
        ...(model === undefined ? {} : { model }),
        reasoning: config.thinkingLevel ?? "medium",
      } as const;
    };
    const engine = createModelEngine({
      models,
      after: options.after,
      definition: async () => {
        const { instructions, tools, connections } = await read();
        const { directUpTo } = config.capabilities ?? {};
        const offered = await offer.of({ connections, tools, directUpTo });
        return {
          system: [instructions, ...(offered?.instructions ? [offered.instructions] : [])].join(
            "\n\n",
          ),
          tools: [...tools, ...(offered?.tools ?? [])],
          ...(offered && { offered: { offered: offered.offered, operations: offered.operations } }),
          cwd,
          ...defaults(),
        };
      },
      defaults: async () => {
        await read();
        return defaults();
      },
    });
    return {
      folder,
      engine,
      models,
      config,
      capabilities,
      // Until a config can be read again, the last one that worked decides.
      access: () => accessOf(config),
      declare: () => offer.declare(first.definition.connections),
      close: async () => {
        folder.close();
        await offer.close();
      },
      diagnostics: first.diagnostics,
      sandbox: () => walls.sandbox,
      sandboxOfPrograms: () => walls.forPrograms(),
      model: () => options.model ?? config.model,
    };
  } catch (error) {
    folder.close();
    throw error;
  }
}

function accessOf({ access = {} }: LichenConfig): ReturnType<AccessRules> {
  const { defaults, required, strict } = access;
  return {
    ...(defaults && { defaults }),
    ...(required && { required }),
    ...(strict === undefined ? {} : { strict }),
  };
}

/** Takes a changed `models.json`; one that cannot be used is reported, and the former stays in use. */
function takeEndpoints(models: Models, text: string | undefined): Diagnostic[] {
  try {
    models.useModelsJson(text);
    return [];
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return [
      {
        severity: "error",
        file: "models.json",
        problem: `${error.message} The last version that worked is in use`,
        fix: "correct the file: it is read again before the next turn",
      },
    ];
  }
}

/** The coding tools, and what stands around them and around programs: made anew only where the config asks for another sandbox. */
class Walls {
  readonly #cwd: string;
  readonly #states: readonly string[];
  readonly #secrets: readonly string[];
  #mode: NonNullable<LichenConfig["sandbox"]> = "auto";
  #tools: Promise<readonly Tool[]> | undefined;
  #programs: Promise<Sandbox> | undefined;
  sandbox: Sandbox | undefined;

  constructor(cwd: string, states: readonly string[], secrets: readonly string[]) {
    this.#cwd = cwd;
    this.#states = states;
    this.#secrets = secrets;
  }

  async codingTools(
    config: LichenConfig,
    readOnly: () => readonly string[],
  ): Promise<readonly Tool[]> {
    const { codingTools = true, sandbox: mode = "auto" } = config;
    if (this.#mode !== mode) {
      this.#mode = mode;
      this.#tools = this.#programs = undefined;
    }
    if (codingTools === false || (Array.isArray(codingTools) && codingTools.length === 0))
      return [];
    return (this.#tools ??= this.#make(mode, readOnly));
  }

  /** What stands around the programs of connections: the wall of `bash`, which shows them their own homes. */
  forPrograms(): Promise<Sandbox> {
    const opening = (this.#programs ??= openSandbox({
      ...{ mode: this.#mode, mask: this.#states, hide: this.#hidden(), cwd: this.#cwd },
    }));
    // What cannot be had now is looked for again where a program starts next.
    opening.catch(() => {
      if (this.#programs === opening) this.#programs = undefined;
    });
    return opening;
  }

  async #make(
    mode: NonNullable<LichenConfig["sandbox"]>,
    readOnly: () => readonly string[],
  ): Promise<readonly Tool[]> {
    const hide = [...this.#hidden(), programHomesDir()];
    this.sandbox = await openSandbox({ mode, mask: this.#states, hide, cwd: this.#cwd });
    return createCodingTools({
      cwd: this.#cwd,
      protectedPaths: [...this.#states, ...hide],
      sandbox: this.sandbox,
      readOnly,
      guarded: () => guardedPlaces(ownHome(), this.#cwd),
    });
  }

  #hidden(): string[] {
    // The places of all of this user's hosts. Where one cannot be made, an agent cannot make it either.
    const shared = [hostsDir(), ...compileCaches()];
    for (const path of shared) makeIfPossible(path);
    return [...shared, ...this.#secrets].filter((path) => !this.#states.includes(path));
  }
}

function makeIfPossible(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch {
    // Not a folder, or not ours to make.
  }
}
