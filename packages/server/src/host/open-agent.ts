// `openAgent`: one durable agent inside a program of one's own, from a folder or from parts.

import { dirname, resolve } from "node:path";
import { createModelEngine, createModels, type Models, type Tool } from "@lichen/engine";
import type { AccessRules, Agent, AgentOptions, Engine, MetaRules } from "@lichen/runtime";
import { nodePlatform } from "@lichen/runtime/node";
import type { Reasoning } from "@lichen/wire";
import type { Hono } from "hono";
import { type EmbeddedVariables, sessionRoutes } from "../door/session-routes.ts";
import { Streams } from "../door/streams.ts";
import { agentIdOf } from "../folder/host/agent-id.ts";
import { findAgent } from "../folder/host/find-agent.ts";
import type { ConnectionOptions } from "../folder/define-connection.ts";
import { toolSet } from "../folder/tool-set.ts";
import { openFolderAgent } from "./folder-agent.ts";
import { openStore } from "./open-store.ts";
import { partsCapabilities, refuseWrong } from "./parts-capabilities.ts";
import { refuseStateInside, stateDirOf } from "./state-dir.ts";
import { whileWorking } from "./working-timer.ts";

export interface StoreChoice {
  /** The SQLite file; left out, everything is kept in memory and gone at the end. */
  path?: string;
  /** Who is behind a request: what `withMeta` accepts, and which part of it is an identity. */
  meta?: MetaRules;
  /** A variable of the environment, for keys; the process's own, unless told otherwise. */
  env?: (name: string) => string | undefined;
  models?: Models;
  /** Told of faults that have no caller. Without it they are warnings of the process. */
  report?: (error: unknown) => void;
  /** Told that nothing can be written any more (a sync failed): end the process. Without it `report` is told. */
  lost?: (error: unknown) => void;
}

export interface PartsChoice extends StoreChoice {
  /** The agent's name in the store. Default `agent`. */
  name?: string;
  /** The system prompt as it stands; a function is asked before each turn. */
  instructions?: string | (() => string | Promise<string>);
  tools?: readonly Tool[];
  /** `provider/id`. */
  model?: string;
  thinkingLevel?: Reasoning;
  /** Where the tools work; the process's working directory, when left out. */
  cwd?: string;
  /** Runs the commands instead of a model. */
  engine?: Engine;
  /** What the agent may call, by name; paths are read from `cwd`. */
  connections?: Record<string, ConnectionOptions>;
  /** As in `lichen.config.ts`. */
  capabilities?: { directUpTo?: number };
  access?: ReturnType<AccessRules>;
}

export interface FolderChoice extends StoreChoice {
  /** The agent's folder, or a directory that holds it. */
  dir: string;
  cwd?: string;
  /** Comes before the config's model. */
  model?: string;
}

export type OpenAgentOptions = PartsChoice | FolderChoice;

export interface OpenedAgent extends AsyncDisposable {
  readonly agent: Agent;
  /** Everything below `/agents/{agent}`, to be mounted behind the program's own middleware. */
  readonly routes: Hono<EmbeddedVariables>;
  close(options?: { patienceMs?: number }): Promise<void>;
}

export async function openAgent(options: OpenAgentOptions): Promise<OpenedAgent> {
  const platform = nodePlatform({
    report: options.report ?? warn,
    ...(options.lost === undefined ? {} : { lost: options.lost }),
  });
  const path = options.path === undefined ? ":memory:" : resolve(options.path);
  const source =
    "dir" in options ? await fromFolder(options, path) : await fromParts(options, path);
  try {
    const store = await openStore(path, {
      platform,
      ...(options.meta === undefined ? {} : { meta: options.meta }),
      ...(source.approvalTtlMs === undefined ? {} : { approvalTtlMs: source.approvalTtlMs }),
    });
    try {
      const agent = await store.owner.attach(source);
      await source.attached?.(agent);
      const streams = new Streams((ms, wake) => platform.after(ms, wake));
      const log = ({ error }: { error: unknown }) => platform.report(error);
      const close = async (closing?: { patienceMs?: number }) => {
        streams.drain();
        await store.close(closing);
        await source.close();
      };
      return {
        agent,
        routes: sessionRoutes(agent, { streams, log }),
        close,
        [Symbol.asyncDispose]: () => close(),
      };
    } catch (error) {
      await store.close({ patienceMs: 0 });
      throw error;
    }
  } catch (error) {
    await source.close();
    throw error;
  }
}

interface Source extends AgentOptions {
  readonly approvalTtlMs?: number;
  attached?(agent: Agent): Promise<void>;
  close(): Promise<void>;
}

async function fromFolder(options: FolderChoice, path: string): Promise<Source> {
  const env = options.env ?? environment;
  const place = findAgent(options.dir, env("LICHEN_AGENT"));
  const cwd = options.cwd ?? place.cwd;
  const isKept = path !== ":memory:";
  if (isKept) {
    refuseStateInside(dirname(path), cwd);
    refuseStateInside(dirname(path), place.dir);
  }
  const made = await openFolderAgent({
    dir: place.dir,
    cwd,
    agentId: agentIdOf(place.dir),
    // A store in memory has no place of its own for sign-ins.
    stateDir: isKept ? dirname(path) : stateDirOf({ agentId: agentIdOf(place.dir) }),
    model: options.model ?? (env("LICHEN_MODEL") || undefined),
    protectedPaths: isKept ? [dirname(path)] : [],
    after: whileWorking,
    env,
    models: options.models,
  });
  const expireAfterMs = made.config.approvals?.expireAfterMs;
  return {
    agent: agentIdOf(place.dir),
    name: made.folder.name,
    engine: made.engine,
    model: () => made.model(),
    capabilities: made.capabilities.options,
    access: made.access,
    ...(expireAfterMs === undefined ? {} : { approvalTtlMs: expireAfterMs }),
    attached: async ({ capabilities }) => {
      made.capabilities.adopt(capabilities);
      made.declare().catch(options.report ?? warn);
    },
    close: () => made.close(),
  };
}

async function fromParts(options: PartsChoice, path: string): Promise<Source> {
  const name = options.name ?? "agent";
  const { tools, diagnostics } = toolSet({}, "tools", [], (options.tools ?? []).map(named));
  refuseWrong(diagnostics);
  const after = whileWorking;
  const env = options.env ?? environment;
  const models = options.models ?? createModels({ env, after });
  const { instructions = "", model, thinkingLevel } = options;
  const cwd = resolve(options.cwd ?? ".");
  const attached = partsCapabilities(options, { name, path, cwd, env, after });
  const own = {
    ...(model === undefined ? {} : { model }),
    ...(thinkingLevel === undefined ? {} : { reasoning: thinkingLevel }),
  };
  const engine =
    options.engine ??
    createModelEngine({
      models,
      after,
      definition: async () => {
        const told = typeof instructions === "string" ? instructions : await instructions();
        const offered = await attached.offered(tools);
        return {
          system: [told, ...(offered?.instructions ? [offered.instructions] : [])].join("\n\n"),
          tools: [...tools, ...(offered?.tools ?? [])],
          ...(offered && { offered: { offered: offered.offered, operations: offered.operations } }),
          cwd,
          ...own,
        };
      },
      defaults: async () => own,
    });
  return {
    agent: name,
    name,
    engine,
    model: () => model,
    capabilities: attached.options,
    access: () => options.access ?? {},
    attached: async ({ capabilities }) => attached.adopt(capabilities, options.report ?? warn),
    close: () => attached.close(),
  };
}

function named(tool: Tool): { file: string; tool: Tool } {
  return { file: "tools", tool };
}

function environment(name: string): string | undefined {
  return process.env[name];
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
