// What a `lichen tool` line asks for: which tool, with what, of which folder. Words are told apart by what they are, so
// that the JSON can be left out and the folder still be named.

import { text as readAll } from "node:stream/consumers";
import { isTooDeep, maxDepth } from "@lichen/server/node";
import { JsonObject } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { holdsAgent, inFolder, isDirectory } from "../folder-word.ts";

export interface Asked {
  /** Left out to list the tools. */
  readonly name: string | undefined;
  /** The JSON as it was typed; `-` stands for stdin. */
  readonly json: string | undefined;
  /** The line with its folder under `dir`. */
  readonly input: Input;
}

export function askedOf(given: Input): Asked {
  const [first, second, third] = ["name", "json", "dir"].map((name) => given.argument(name));
  if (first === undefined || (second === undefined && isAgentFolder(first)))
    return { name: undefined, json: undefined, input: inFolder(given, first) };
  if (third !== undefined || second === undefined || second === "-" || isJson(second))
    return { name: first, json: second, input: inFolder(given, third) };
  if (isDirectory(second)) return { name: first, json: undefined, input: inFolder(given, second) };
  throw new UsageError(
    /^\s*[{["]/.test(second)
      ? `tool: the input is no JSON: ${jsonProblem(second)}`
      : `tool: "${second}" is neither JSON, such as '{"count":2}', nor a folder`,
    "tool",
  );
}

/** The object that the tool is given. */
export async function givenOf(json: string | undefined): Promise<JsonObject> {
  const text = json === "-" ? await readAll(process.stdin) : (json ?? "{}");
  const problem = jsonProblem(text);
  if (problem !== undefined) throw new UsageError(`tool: the input is no JSON: ${problem}`, "tool");
  const value: unknown = JSON.parse(text);
  if (isTooDeep(value))
    throw new UsageError(`tool: the input is nested deeper than ${maxDepth} levels`, "tool");
  const { success, data } = JsonObject.safeParse(value);
  if (success) return data;
  throw new UsageError(`tool: the input must be a JSON object, such as '{"count":2}'`, "tool");
}

/** A bare name is a tool's, unless an agent lies in a folder of that name. */
function isAgentFolder(word: string): boolean {
  return !/^[A-Za-z0-9_-]+$/.test(word) || holdsAgent(word);
}

function isJson(text: string): boolean {
  return jsonProblem(text) === undefined;
}

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
