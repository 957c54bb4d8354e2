// Reads a command line against the table: every word is understood, or the whole line is refused.

import { parseArgs } from "node:util";
import { type CommandSpec, type Input, type OptionSpec, UsageError } from "./command.ts";
import { nearest } from "@lichen/server/nearest";

export type Parsed =
  | { readonly kind: "help"; readonly command?: CommandSpec }
  | { readonly kind: "version" }
  | { readonly kind: "run"; readonly command: CommandSpec; readonly input: Input };

/** Flags follow the command; `--help` and `--version` also stand alone. */
export function parse(args: readonly string[], commands: readonly CommandSpec[]): Parsed {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "-h") return { kind: "help" };
  if (first === "--version" || first === "-v") return { kind: "version" };
  if (first === "help") {
    const [name, ...more] = rest;
    if (name === undefined || name.startsWith("-")) return { kind: "help" };
    if (more.length > 0) throw new UsageError("help: takes the name of one command", "help");
    return { kind: "help", command: commandCalled(name, commands) };
  }
  if (first.startsWith("-")) {
    throw new UsageError(`${first} comes before a command: options follow the command's name`);
  }
  const command = commandCalled(first, commands);
  return parseCommand(command, rest);
}

function commandCalled(name: string, commands: readonly CommandSpec[]): CommandSpec {
  const command = commands.find((spec) => spec.name === name);
  if (command !== undefined) return command;
  const names = [...commands.map((spec) => spec.name), "help"];
  throw new UsageError(`there is no command "${name}"${meant(name, names, "")}`);
}

function parseCommand(command: CommandSpec, args: readonly string[]): Parsed {
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries([
      ["help", { type: "boolean" as const, short: "h" }],
      ...command.options.map((option) => [
        option.name,
        { type: option.value === undefined ? ("boolean" as const) : ("string" as const) },
      ]),
    ]),
  });
  const values = new Map<string, (string | true)[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") return { kind: "help", command };
    const option = command.options.find((spec) => spec.name === token.name);
    if (option === undefined || !token.rawName.startsWith("--")) {
      if (command.hidesWords !== undefined)
        throw refusal(command, `has no such option; ${command.hidesWords}`);
      const names = ["help", ...command.options.map((spec) => spec.name)];
      throw refusal(command, `has no option ${token.rawName}${meant(token.name, names, "--")}`);
    }
    const earlier = values.get(option.name) ?? [];
    values.set(option.name, [...earlier, valueOf(command, option, token)]);
  }
  return { kind: "run", command, input: inputOf(command, words, values) };
}

interface OptionToken {
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function valueOf(command: CommandSpec, option: OptionSpec, token: OptionToken): string | true {
  const name = `--${option.name}`;
  if (option.value === undefined) {
    if (token.value !== undefined) throw refusal(command, `${name} takes no value`);
    return true;
  }
  const { value } = token;
  const isOption = token.inlineValue !== true && value !== undefined && /^-./.test(value);
  if (value === undefined || value === "" || isOption) {
    throw refusal(command, `${name} needs a value: ${name} <${option.value}>`);
  }
  const reason = option.refuse?.(value);
  if (reason !== undefined) throw refusal(command, `${name} ${reason}`);
  return value;
}

function inputOf(
  command: CommandSpec,
  words: readonly string[],
  values: ReadonlyMap<string, readonly (string | true)[]>,
): Input {
  const required = command.arguments.filter((spec) => spec.required);
  const missing = required[words.length];
  if (missing !== undefined) throw refusal(command, `needs <${missing.name}>: ${missing.summary}`);
  const extra = words[command.arguments.length];
  if (extra !== undefined && command.hidesWords !== undefined)
    throw refusal(command, `takes one provider and no other word; ${command.hidesWords}`);
  if (extra !== undefined) {
    throw refusal(
      command,
      `does not know what to do with "${extra}" (quote a text that has spaces)`,
    );
  }
  // Words that are left over after the required arguments go to the optional ones, from the first on.
  let spare = words.length - required.length;
  const given = command.arguments.filter((spec) => spec.required || spare-- > 0);
  const texts = (name: string) => (values.get(name) ?? []).filter((value) => value !== true);
  return {
    argument: (name) => words[given.findIndex((spec) => spec.name === name)],
    value: (name) => texts(name).at(-1),
    values: texts,
    flag: (name) => values.get(name)?.includes(true) === true,
  };
}

function refusal(command: CommandSpec, message: string): UsageError {
  return new UsageError(`${command.name}: ${message}`, command.name);
}

function meant(typed: string, names: readonly string[], prefix: string): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : `; did you mean ${prefix}${name}?`;
}
