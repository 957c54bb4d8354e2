// Which tools an agent has: the built-in coding tools, then the config's, then those of `tools/`. The first of a name
// wins and the others are reported. `search_tools` joins where a tool is deferred.

import type { Tool } from "@lichen/engine";
import { codingToolNames, type LichenConfig } from "./define-config.ts";
import type { Diagnostic } from "./definition.ts";
import { nearest } from "./nearest.ts";
import { searchTools, searchToolsName } from "./search-tools.ts";

export interface FoundTool {
  /** From the agent's directory. */
  readonly file: string;
  readonly tool: Tool;
}

/** Names every provider takes. */
export const toolName = /^[A-Za-z0-9_-]{1,64}$/;

export function toolSet(
  config: LichenConfig,
  configFile: string,
  coding: readonly Tool[],
  authored: readonly FoundTool[],
): { tools: Tool[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const tools = new Map<string, FoundTool>();
  const candidates: FoundTool[] = [
    ...coding
      .filter(({ name }) => isCodingToolOn(config, name))
      .map((tool) => ({ file: "the coding tools", tool })),
    ...(config.tools ?? []).map((tool) => ({ file: configFile, tool })),
    ...authored,
  ];
  for (const candidate of candidates) {
    const { name } = candidate.tool;
    const first = tools.get(name);
    if (first)
      diagnostics.push({
        severity: "warning",
        file: candidate.file,
        problem: `the tool "${name}" is not used: ${first.file} has one of this name, which comes first`,
        fix: codingToolNames.some((it) => it === name)
          ? `rename it, or leave "${name}" out of codingTools in the config`
          : "rename one of the two",
      });
    else if (toolName.test(name)) tools.set(name, candidate);
    else
      diagnostics.push({
        severity: "error",
        file: candidate.file,
        problem: `"${name}" cannot be a tool's name`,
        fix: "use letters, digits, _ and -, at most 64",
      });
  }
  ownSearch(tools, diagnostics);
  askFirst(tools, config, configFile, diagnostics);
  return { tools: [...tools.values()].map(({ tool }) => tool), diagnostics };
}

export function isCodingToolOn({ codingTools = true }: LichenConfig, name: string): boolean {
  return Array.isArray(codingTools) ? codingTools.some((it) => it === name) : codingTools;
}

function ownSearch(tools: Map<string, FoundTool>, diagnostics: Diagnostic[]): void {
  const own = tools.get(searchToolsName);
  const isNeeded = [...tools.values()].some(
    ({ tool }) => tool.deferred && tool.name !== searchToolsName,
  );
  if (!own) {
    if (isNeeded) tools.set(searchToolsName, { file: "the built-in tools", tool: searchTools() });
    return;
  }
  const { deferred, executionMode } = own.tool;
  if (!deferred && executionMode === "sequential") return;
  tools.set(searchToolsName, {
    file: own.file,
    tool: { ...own.tool, deferred: false, executionMode: "sequential" },
  });
  diagnostics.push({
    severity: "warning",
    file: own.file,
    problem: `"${searchToolsName}" switches tools on, so it runs alone and is never deferred; it is treated so`,
    fix: 'say executionMode: "sequential" and leave deferred out',
  });
}

/** The owner may ask for a person where the author did not; never the other way round. */
function askFirst(
  tools: Map<string, FoundTool>,
  config: LichenConfig,
  configFile: string,
  diagnostics: Diagnostic[],
): void {
  for (const name of config.approvals?.confirm ?? []) {
    const found = tools.get(name);
    if (found) {
      if (!found.tool.confirm || typeof found.tool.confirm === "function")
        tools.set(name, { ...found, tool: { ...found.tool, confirm: askAlways(found.tool) } });
      continue;
    }
    const meant = nearest(name, [...tools.keys()]);
    diagnostics.push({
      severity: "warning",
      file: configFile,
      problem: `approvals.confirm names "${name}", which is no tool of this agent`,
      fix: meant === undefined ? "take the name out" : `did you mean "${meant}"?`,
    });
  }
}

function askAlways({ confirm, description }: Tool): NonNullable<Tool["confirm"]> {
  return typeof confirm === "function" ? (input) => confirm(input) ?? description : true;
}
