// The coding tools of one working directory: which there are, and which of them an agent gets.

import { statSync } from "node:fs";
import { Fault } from "@lichen/wire";
import type { Tool } from "../../tool.ts";
import { bashTool } from "./bash-tool.ts";
import { editTool, lsTool, readTool, writeTool } from "./file-tools.ts";
import { Guard } from "./guard.ts";
import type { Sandbox } from "./sandbox.ts";
import { findTool, grepTool } from "./search-tools.ts";

export interface CodingToolsOptions {
  readonly cwd: string;
  /** Closed to the file tools: the state, the credentials, the store. Give the sandbox the same as masks. */
  readonly protectedPaths: readonly string[];
  readonly sandbox: Sandbox;
  /**
   * Files and folders, there or not yet, that tools may read and never change: the code that the host itself runs.
   * Asked for at each call. Without a wall `bash` does not keep to it.
   */
  readonly readOnly?: () => readonly string[];
  /** The same for what has no part in the work: real paths of what is there. */
  readonly guarded?: () => readonly string[];
  /** All (the default), none, or exactly these. */
  readonly allow?: boolean | readonly string[];
  /** Variables for `bash` beside PATH, HOME, LANG, TERM, TMPDIR and USER. */
  readonly environment?: Readonly<Record<string, string>>;
}

const none = (): readonly string[] => [];

export const codingToolNames = ["read", "write", "edit", "bash", "grep", "find", "ls"] as const;

export function createCodingTools(options: CodingToolsOptions): Tool[] {
  const { cwd, protectedPaths, readOnly = none, guarded = none, allow = true } = options;
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault("invalid", `The working directory ${cwd} does not exist.`);
  if (allow === false) return [];
  const guard = new Guard({
    cwd,
    protectedPaths,
    readOnly: () => [...readOnly(), ...guarded()],
  });
  const tools = [
    readTool(guard),
    writeTool(guard),
    editTool(guard),
    bashTool(options),
    grepTool(guard),
    findTool(guard),
    lsTool(guard),
  ];
  if (allow === true) return tools;
  const unknown = allow.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw new Fault(
      "invalid",
      `There is no coding tool ${unknown}. There are ${codingToolNames.join(", ")}.`,
    );
  return tools.filter((tool) => allow.includes(tool.name));
}
