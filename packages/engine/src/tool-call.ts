// One call of a tool, wherever it is called from: its arguments are accepted or refused, the tool says whether a person
// must allow it, and what it returns or throws becomes an outcome.

import type { Outcome } from "@lichen/runtime";
import type { JsonObject } from "@lichen/wire";
import { errorOutcome, outcomeOf, type Tool } from "./tool.ts";

/** Nothing ran: the arguments do not fit, or the tool could not tell whether it may run. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** The arguments as the tool will get them. Throws a `Refusal` that names what does not fit. */
export function acceptedInput(tool: Tool, given: unknown): JsonObject {
  try {
    return tool.parse(given);
  } catch (error) {
    throw new Refusal(`Invalid arguments for ${tool.name}: ${textOf(error)}`, { cause: error });
  }
}

/** The same for arguments that no loop has checked yet: first bent to the schema, as the loop does with a model's. */
export async function acceptedCall(tool: Tool, given: JsonObject): Promise<JsonObject> {
  const { validateToolArguments } = await import("@earendil-works/pi-ai/utils/validation");
  const { name, description, parameters } = tool;
  let bent: unknown;
  try {
    const call = { type: "toolCall" as const, id: "", name, arguments: given };
    bent = validateToolArguments({ name, description, parameters }, call);
  } catch (error) {
    const [, reasons] = /^Validation failed.*?:\n(.*?)\n\nReceived/s.exec(textOf(error)) ?? [];
    const reason = reasons?.replace(/^ *- /gm, "").replaceAll("\n", "; ") ?? textOf(error);
    throw new Refusal(`Invalid arguments for ${name}: ${reason}`, { cause: error });
  }
  return acceptedInput(tool, bent);
}

/** What to tell the person who must allow this call; undefined where it needs nobody. Throws a `Refusal`. */
export function confirmationOf(
  tool: Tool,
  input: JsonObject,
): { readonly description?: string } | undefined {
  if (typeof tool.confirm !== "function") return tool.confirm ? {} : undefined;
  let description: string | undefined;
  try {
    description = tool.confirm(input);
  } catch (error) {
    throw new Refusal(
      `${tool.name} could not say whether a person must allow this: ${textOf(error)}`,
      { cause: error },
    );
  }
  return description === undefined ? undefined : { description };
}

/** The outcome of a tool's work; a throw is an error's. Once `signal` aborts a throw is no outcome and goes on. */
export async function outcomeOfWork(
  signal: AbortSignal,
  work: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    return outcomeOf(await work());
  } catch (error) {
    if (signal.aborted) throw error;
    return errorOutcome(textOf(error));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
