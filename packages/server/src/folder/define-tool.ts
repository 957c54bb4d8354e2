// `defineTool`: a tool as its author writes it, from a zod schema and a function.
//
//   What is recorded and shown to a person is what the function will get: defaults filled in and unknown fields gone,
//   as far as that is JSON which the schema accepts again; else it is the input as the model gave it.

import type { Tool, ToolContext } from "@lichen/engine";
import { canonicalJson, JsonObject, type Label } from "@lichen/wire";
import * as z from "zod";

export interface DefineToolOptions<I extends z.ZodType> {
  /** In `tools/<name>.ts` the file gives the name; elsewhere it must stand here. */
  name?: string;
  /** For the model: what the tool does and when to use it. */
  description: string;
  input: I;
  /** `read` changes nothing outside, so that it may run again after a crash. Default `write`. */
  label?: Label;
  /** Running it twice with the same input does no harm. */
  replaySafe?: boolean;
  /** A person must allow each call; a function answers what to tell that person, or undefined where nobody is needed. */
  confirm?: boolean | ((input: z.output<I>) => string | undefined);
  /** Hidden from the model until it is found with `search_tools`: write the description with that search in mind. */
  deferred?: boolean;
  executionMode?: "parallel" | "sequential";
  /** A string is the result's text, an object with a `content` array the result itself, anything else JSON. A throw is an error the model reads. */
  execute(input: z.output<I>, context: ToolContext): unknown;
}

export function defineTool<I extends z.ZodType>(options: DefineToolOptions<I>): Tool {
  const { input: schema, confirm } = options;
  const checked = (input: unknown): z.output<I> => {
    const result = schema.safeParse(input);
    if (!result.success) throw new Error(reasonOf(result.error));
    return result.data;
  };
  return {
    name: options.name ?? "",
    description: options.description,
    parameters: parametersOf(schema),
    label: options.label ?? "write",
    ...(options.replaySafe === undefined ? {} : { replaySafe: options.replaySafe }),
    ...(confirm === undefined
      ? {}
      : {
          confirm:
            typeof confirm === "function"
              ? (input: JsonObject) => confirm(checked(input))
              : confirm,
        }),
    ...(options.deferred === undefined ? {} : { deferred: options.deferred }),
    ...(options.executionMode === undefined ? {} : { executionMode: options.executionMode }),
    parse: (input) => settledInput(schema, input, checked(input)),
    execute: (input, context) => options.execute(checked(input), context),
  };
}

/** Whether a value is a tool: what `defineTool` makes, or an object written by hand with the same members. */
export function isTool(value: unknown): value is Tool {
  if (typeof value !== "object" || value === null) return false;
  const it = value as Partial<Record<keyof Tool, unknown>>;
  return (
    typeof it.name === "string" &&
    typeof it.description === "string" &&
    typeof it.parameters === "object" &&
    it.parameters !== null &&
    (it.label === "read" || it.label === "write") &&
    typeof it.parse === "function" &&
    typeof it.execute === "function"
  );
}

function parametersOf(schema: z.ZodType): JsonObject {
  // By default a field with a default counts as required; a model may leave it out.
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: "input" });
  if (parameters.type !== "object")
    throw new Error(
      "input: must be a z.object({…}), because a model calls a tool with named fields.",
    );
  return JsonObject.parse(parameters);
}

function settledInput(schema: z.ZodType, given: unknown, output: unknown): JsonObject {
  const filled = JsonObject.safeParse(output);
  if (filled.success) {
    const again = schema.safeParse(filled.data);
    if (again.success && canonicalJson(again.data) === canonicalJson(filled.data))
      return filled.data;
  }
  return JsonObject.parse(given);
}

function reasonOf(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message))
    .join("; ");
}
