// A working directory with the coding tools in it, for tests: real files, real processes, gone afterwards.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Outcome } from "@lichen/runtime";
import type { JsonObject } from "@lichen/wire";
import { outcomeOf, type Tool, type ToolContext } from "../../src/tool.ts";
import { type CodingToolsOptions, createCodingTools } from "../../src/tools/host/coding-tools.ts";
import { openSandbox } from "../../src/tools/host/sandbox.ts";

export interface Workbench extends Disposable {
  /** Holds everything. */
  readonly root: string;
  readonly cwd: string;
  /** Where the host would keep its state; the caller makes what it needs there. */
  readonly state: string;
  tools(options?: Partial<CodingToolsOptions>): Promise<Tool[]>;
}

export function workbench(): Workbench {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tools-")));
  const cwd = mkdtempSync(join(root, "work-"));
  const state = mkdtempSync(join(root, "state-"));
  return {
    root,
    cwd,
    state,
    tools: async (options = {}) =>
      createCodingTools({
        cwd,
        protectedPaths: [state],
        sandbox: await openSandbox({ mode: "off", mask: [], cwd }),
        ...options,
      }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Runs a tool as an engine does: a throw is an error outcome. */
export async function use(
  tools: readonly Tool[],
  name: string,
  input: JsonObject,
  options: { signal?: AbortSignal; output?: (text: string) => void } = {},
): Promise<Outcome & { readonly text: string }> {
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new Error(`There is no tool ${name}.`);
  const context: ToolContext = {
    cwd: "/",
    signal: options.signal ?? new AbortController().signal,
    session: { agent: "agent", session: "session", commandId: "command" },
    tools: { active: () => [], registered: () => [], activate: () => Promise.resolve([]) },
    output: options.output ?? (() => undefined),
    ask: () => Promise.reject(new Error("Nobody can be asked.")),
  };
  let outcome: Outcome;
  try {
    outcome = outcomeOf(await tool.execute(tool.parse(input), context));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    outcome = { content: [{ type: "text", text }], isError: true };
  }
  const text = outcome.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { ...outcome, text };
}
