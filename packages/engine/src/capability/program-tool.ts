// The execute door as a tool of the engine: its call runs again after a crash, and what it did is in the journal of its
// own calls, which have labels of their own.

import { executeInput, type ExecuteContext, type ExecuteTool } from "@lichen/capability/execute";
import type { Tool, ToolContext } from "../tool.ts";
import { askOf } from "./asks.ts";

export function programTool(door: ExecuteTool): Tool {
  const { name, description } = door;
  return {
    name,
    description,
    parameters: structuredClone(door.parameters) as Tool["parameters"],
    label: "read",
    replaySafe: true,
    endsItself: true,
    parse: (given) => ({ ...executeInput(given) }),
    async execute(input, context) {
      return door.execute(input, await contextOf(context));
    },
  };
}

async function contextOf(context: ToolContext): Promise<ExecuteContext> {
  const { signal, ask, askFor, access, clean } = context;
  const program = await context.program?.();
  return {
    signal,
    output: (text) => context.output(text),
    ...(program ? { program } : {}),
    ...(access ? { access } : {}),
    ...(clean ? { clean } : {}),
    ask: (ordinal) => askOf(askFor?.(ordinal) ?? ask),
    async confirm({ operation, input, description }) {
      const question = `Run ${operation} ${JSON.stringify(input)}?`.slice(0, 2_000).toWellFormed();
      const options = [{ label: "Yes" }, { label: "No" }];
      const about = description.trim().slice(0, 500).toWellFormed();
      const told = await ask([{ question, options }], about === "" ? {} : { description: about });
      return told.outcome === "answered" && told.answers[question] === "Yes";
    },
  };
}
