// What a person types next, as it has to be typed: the command by the name it was started by, words quoted for a shell.

import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Input } from "./command.ts";
import { printable } from "./printable.ts";

/** `lichen`, or `npx lichen` where only npm finds it: it was started by npm, or inside its own clone. */
export function commandName(): string {
  const clone = fileURLToPath(import.meta.resolve("../../../"));
  const way = relative(clone, process.cwd());
  const isInClone = !isAbsolute(way) && !/^\.\.(\/|$)/.test(way);
  return process.env["npm_command"] !== undefined || isInClone ? "npx lichen" : "lichen";
}

/** The folder, the state and the machine elsewhere that a command line named, to be named again, with the space before them. */
export function samePlace(input: Input): string {
  const dir = input.argument("dir");
  const state = input.value("state");
  const on = input.value("on");
  return [
    ...(dir === undefined ? [] : [` ${quoted(dir)}`]),
    ...(state === undefined ? [] : [` --state ${quoted(state)}`]),
    ...(on === undefined ? [] : [` --on ${quoted(on)}`]),
  ].join("");
}

/** A word as a shell reads it back. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (printable(word) === word) return `'${word.replaceAll("'", `'\\''`)}'`;
  // What could move the cursor or turn the line around is spelt out.
  const spelt = Array.from(word, (character) =>
    printable(character) === character
      ? character.replace(/['\\]/, "\\$&")
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `$'${spelt.join("")}'`;
}
