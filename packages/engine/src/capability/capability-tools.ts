// What a model is offered of an agent's capabilities: few operations as tools of their own, many through `execute`.

import type { CapabilitySource } from "@lichen/capability";
import { createExecuteTool, type SandboxExecutor } from "@lichen/capability/execute";
import type { OfferedCapabilities } from "@lichen/wire";
import type { Tool } from "../tool.ts";
import { directTools } from "./direct-tools.ts";
import { programTool } from "./program-tool.ts";

export interface CapabilityToolsOptions {
  readonly source: CapabilitySource;
  readonly executor: SandboxExecutor;
  /** How many operations are offered as tools of their own; more of them stand behind `execute`. Default 24; 0 is always `execute`. */
  readonly threshold?: number;
  /** Names of the agent's other tools, which none of these may have. */
  readonly taken?: Iterable<string>;
  /** How long a program may take where its code says nothing: 180. */
  readonly deadlineSeconds?: number;
  /** Takes what a connector threw that is no `OperationError`. */
  readonly report?: (error: unknown) => void;
}

export interface CapabilityTools extends OfferedCapabilities {
  readonly tools: readonly Tool[];
}

const usualThreshold = 24;

/** The tools for what is attached now; nothing attached gives none, where the threshold is not 0. */
export function capabilityTools(options: CapabilityToolsOptions): CapabilityTools {
  const { source, threshold = usualThreshold } = options;
  const surface = source.surface();
  const operations = surface.namespaces.reduce((sum, { operations: some }) => sum + some.length, 0);
  if (threshold > 0 && operations <= threshold)
    return { offered: "direct", operations, tools: directTools(surface, options) };
  return { offered: "execute", operations, tools: [programTool(createExecuteTool(options))] };
}
