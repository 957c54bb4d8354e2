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
  return { name: first, ...jsonOrFolder(given, second, "tool") };
}

/** What one word is that may be the input or the folder. */
export function jsonOrFolder(
  given: Input,
  word: string | undefined,
  command: string,
): { json: string | undefined; input: Input } {
  if (word === undefined || word === "-" || isJson(word))
    return { json: word, input: inFolder(given, undefined) };
  if (isDirectory(word)) return { json: undefined, input: inFolder(given, word) };
  throw new UsageError(
    /^\s*[{["]/.test(word)
      ? `${command}: the input is no JSON: ${jsonProblem(word)}`
      : `${command}: "${word}" is neither JSON, such as '{"count":2}', nor a folder`,
    command,
  );
}

/** The object that the tool is given; an operation that `command` calls. */
export async function givenOf(json: string | undefined, command = "tool"): Promise<JsonObject> {
  const text = json === "-" ? await readAll(process.stdin) : (json ?? "{}");
  const problem = jsonProblem(text);
  if (problem !== undefined)
    throw new UsageError(`${command}: the input is no JSON: ${problem}`, command);
  const value: unknown = JSON.parse(text);
  if (isTooDeep(value))
    throw new UsageError(`${command}: the input is nested deeper than ${maxDepth} levels`, command);
  const { success, data } = JsonObject.safeParse(value);
  if (success) return data;
  throw new UsageError(
    `${command}: the input must be a JSON object, such as '{"count":2}'`,
    command,
  );
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
