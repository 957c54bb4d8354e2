// A coding tool from its zod schema: one source for what the model is told, what is checked and what the code sees.

import { JsonObject, type Label } from "@lichen/wire";
import * as z from "zod";
import type { Tool, ToolContext } from "../tool.ts";

export interface TypedTool<Input> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly label: Label;
  /** The key that grants name. */
  readonly grant: string;
  readonly replaySafe?: boolean;
  execute(input: Input, context: ToolContext): unknown;
}

export function typedTool<Input>(tool: TypedTool<Input>): Tool {
  const { name, description, input, label, grant, replaySafe } = tool;
  const parse = (value: unknown): Input => {
    const parsed = input.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new Error(`Invalid arguments for ${name}: ${z.prettifyError(parsed.error)}`);
  };
  return {
    name,
    description,
    label,
    grant,
    parameters: JsonObject.parse(z.toJSONSchema(input, { io: "input" })),
    ...(replaySafe === undefined ? {} : { replaySafe }),
    parse: (value) => JsonObject.parse(parse(value)),
    execute: (value, context) => tool.execute(parse(value), context),
  };
}
