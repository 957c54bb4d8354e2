// Words of a command line of which the first may be left out: told apart by what they are, so that the folder can still be
// named.

import { statSync } from "node:fs";
import { findAgent } from "@lichen/server/node";
import { type Input, UsageError } from "./command.ts";

/** The line with another folder under `dir`, and nothing else under its arguments. */
export function inFolder(given: Input, dir: string | undefined): Input {
  return { ...given, argument: (name) => (name === "dir" ? dir : undefined) };
}

/** An id, or the folder where the word is none. `what` is what it should be, where a folder is named as well. */
export function idOrFolder(
  given: Input,
  { command, argument, isId, what }: IdWord,
): { id: string | undefined; input: Input } {
  const word = given.argument(argument);
  if (word === undefined || isId(word)) return { id: word, input: given };
  if (given.argument("dir") === undefined) return { id: undefined, input: inFolder(given, word) };
  throw new UsageError(`${command}: "${word}" is ${what}`, command);
}

interface IdWord {
  readonly command: string;
  readonly argument: string;
  readonly isId: (word: string) => boolean;
  readonly what: string;
}

export function isDirectory(word: string): boolean {
  return statSync(word, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether the word is a folder that is an agent, or has one in it. */
export function holdsAgent(word: string): boolean {
  if (!isDirectory(word)) return false;
  try {
    findAgent(word);
    return true;
  } catch {
    // No agent there, or several.
    return false;
  }
}
