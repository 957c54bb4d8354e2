// `createAgent` and its kin: the small contract (`invoke`) over an agent made of parts, of a folder, or of a workspace.

import { basename, join } from "node:path";
import { codingToolNames, type LichenConfig } from "../folder/define-config.ts";
import type { Definition, Diagnostic } from "../folder/definition.ts";
import { isCodingToolOn } from "../folder/tool-set.ts";
import { loadDefinition } from "../folder/host/agent-folder.ts";
import type { Agent as InvokeAgent } from "../invoke/contract.ts";
import { type InvokeOfOptions, invokeWhenOpen } from "../invoke/invoke-of.ts";
import { locateHost } from "./open-host.ts";
import {
  type FolderChoice,
  openAgent,
  type OpenAgentOptions,
  type PartsChoice,
} from "./open-agent.ts";
import { makeStateDir } from "./state-dir.ts";

export interface InvokableAgent extends InvokeAgent, AsyncDisposable {
  /** Lets runs end for a moment, and gives the store back. */
  close(): Promise<void>;
}

export type CreateAgentOptions = PartsChoice & Pick<InvokeOfOptions, "busy">;

/** Opens its store at the first `invoke`; what goes wrong in that is a `failed` event. */
export function createAgent(options: CreateAgentOptions): InvokableAgent {
  return whenNeeded(options, options.busy);
}

export type CreateAgentFromDefinitionOptions = Omit<FolderChoice, "dir"> &
  Pick<InvokeOfOptions, "busy">;

export interface AgentFromDefinition {
  readonly agent: InvokableAgent;
  readonly definition: Definition;
  readonly diagnostics: readonly Diagnostic[];
}

/** The agent of a folder. Rejects where its config or models.json cannot be used. */
export async function createAgentFromDefinition(
  dir: string,
  options: CreateAgentFromDefinitionOptions = {},
): Promise<AgentFromDefinition> {
  const { busy, ...rest } = options;
  const { definition, diagnostics } = await loadDefinition(dir, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  return { agent: whenNeeded({ ...rest, dir }, busy), definition, diagnostics };
}

export interface AgentFromWorkspace extends AgentFromDefinition {
  readonly config: LichenConfig;
  /** The config's file name. */
  readonly configPath: string;
  /** The model that was asked for, where one was. */
  readonly modelSpec: string | undefined;
  readonly agentDir: string;
  readonly stateRoot: string;
  readonly toolNames: readonly string[];
}

/** The same with its durable state where `lichen start` keeps it: conversations are shared with it, one at a time. */
export async function createAgentFromWorkspace(
  dir: string,
  options: Omit<CreateAgentFromDefinitionOptions, "path"> & { state?: string } = {},
): Promise<AgentFromWorkspace> {
  const { state, ...rest } = options;
  const { place, stateDir } = locateHost({
    dir,
    ...(state === undefined ? {} : { state }),
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const stateRoot = makeStateDir(stateDir);
  const made = await createAgentFromDefinition(dir, { ...rest, path: join(stateRoot, "host.db") });
  const { config } = made.definition;
  return {
    ...made,
    config,
    configPath: basename(place.configFile),
    modelSpec: options.model ?? config.model,
    agentDir: place.dir,
    stateRoot,
    toolNames: [
      ...codingToolNames.filter((name) => isCodingToolOn(config, name)),
      ...made.definition.tools.map(({ name }) => name),
    ],
  };
}

function whenNeeded(options: OpenAgentOptions, busy: InvokeOfOptions["busy"]): InvokableAgent {
  let opening: ReturnType<typeof openAgent> | undefined;
  let isClosed = false;
  const open = async () => {
    if (isClosed) throw new Error("This agent was closed.");
    opening ??= openAgent(options).catch((error: unknown) => {
      // The next invoke tries again: the store may be free by then, or the folder mended.
      opening = undefined;
      throw error;
    });
    return (await opening).agent;
  };
  const close = async () => {
    isClosed = true;
    await (await opening?.catch(() => undefined))?.close();
  };
  return {
    ...invokeWhenOpen(open, {
      ...(busy === undefined ? {} : { busy }),
      ...(options.report === undefined ? {} : { report: options.report }),
    }),
    close,
    [Symbol.asyncDispose]: close,
  };
}
