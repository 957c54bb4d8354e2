// Reads a command line against the table: every word is understood, or the whole line is refused.

import { parseArgs } from "node:util";
import { type CommandSpec, type Input, type OptionSpec, UsageError } from "./command.ts";
import { nearest } from "@lichen/server/nearest";

export type Parsed =
  | {
      readonly kind: "help";
      readonly command?: CommandSpec;
      /** The commands that begin with one word. */
      readonly group?: readonly CommandSpec[];
    }
  | { readonly kind: "version" }
  | { readonly kind: "run"; readonly command: CommandSpec; readonly input: Input };

/** Flags follow the command; `--help` and `--version` also stand alone. */
export function parse(args: readonly string[], commands: readonly CommandSpec[]): Parsed {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "-h") return { kind: "help" };
  if (first === "--version" || first === "-v") return { kind: "version" };
  if (first === "help") {
    if (rest[0] === undefined || rest[0].startsWith("-")) return { kind: "help" };
    const { command, group, after } = commandCalled(rest, commands);
    if (after.length > 0) throw new UsageError("help: takes the name of one command", "help");
    return command === undefined ? { kind: "help", group } : { kind: "help", command };
  }
  if (first.startsWith("-")) {
    throw new UsageError(`${first} comes before a command: options follow the command's name`);
  }
  const { command, group, after } = commandCalled(args, commands);
  if (command !== undefined) return parseCommand(command, after);
  if (after[0] === "--help" || after[0] === "-h") return { kind: "help", group };
  throw new UsageError(`${first}: say what, such as \`${group[0]?.name}\``, first);
}

interface Called {
  readonly command?: CommandSpec;
  /** Where the first word alone was typed, the commands that begin with it. */
  readonly group: readonly CommandSpec[];
  readonly after: readonly string[];
}

function commandCalled(words: readonly string[], commands: readonly CommandSpec[]): Called {
  const [first = "", second, ...rest] = words;
  const command = commands.find((spec) => spec.name === first);
  if (command !== undefined) return { command, group: [], after: words.slice(1) };
  const group = commands.filter((spec) => spec.name.startsWith(`${first} `));
  if (group.length === 0) {
    const names = [...commands.map((spec) => spec.name.split(" ")[0]!), "help"];
    throw new UsageError(`there is no command "${first}"${meant(first, names, "")}`);
  }
  if (second === undefined || second.startsWith("-")) return { group, after: words.slice(1) };
  const inner = group.find((spec) => spec.name === `${first} ${second}`);
  if (inner !== undefined) return { command: inner, group, after: rest };
  const names = group.map((spec) => spec.name.slice(first.length + 1));
  throw new UsageError(`${first} does not know "${second}"${meant(second, names, "")}`, first);
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
  const rest: string[] = [];
  let isRest = false;
  for (const token of tokens) {
    if (token.kind === "option-terminator") isRest = command.rest !== undefined;
    if (token.kind === "positional") (isRest ? rest : words).push(token.value);
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
  return { kind: "run", command, input: { ...inputOf(command, words, values), rest } };
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
): Omit<Input, "rest"> {
  const required = command.arguments.filter((spec) => spec.required);
  const missing = required[words.length];
  if (missing !== undefined) throw refusal(command, `needs <${missing.name}>: ${missing.summary}`);
  const last = command.arguments.at(-1);
  const many = last?.isMany === true ? last.name : undefined;
  const extra = many === undefined ? words[command.arguments.length] : undefined;
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
    values: (name) => (name === many ? words.slice(command.arguments.length - 1) : texts(name)),
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
