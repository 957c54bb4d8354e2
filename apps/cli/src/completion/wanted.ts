// What a command line that is still being typed wants next, read against the table of commands. It never refuses: what it
// does not understand wants nothing.

import type { CommandSpec, Offers, OptionSpec } from "../command.ts";

export interface Offer {
  readonly word: string;
  readonly summary: string;
}

export interface Wanted {
  /** Words of the table. */
  readonly words: readonly Offer[];
  /** Kinds of values that are found out. */
  readonly kinds: readonly Exclude<Offers, readonly string[]>[];
  /** Stands before each value: the option of `--option=value`. */
  readonly prefix: string;
  /** The arguments typed so far, and the options' values. */
  readonly typed: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

/** `words` are those after the command's own name; the last one is being typed. */
export function wantedBy(words: readonly string[], commands: readonly CommandSpec[]): Wanted {
  const current = words.at(-1) ?? "";
  const typedWords = words.slice(0, -1);
  const [name, second] = typedWords;
  if (name === undefined) return table([...commandNames(commands), ...general], current);
  if (name === "help") {
    const among = second === undefined ? commandNames(commands) : innerNames(second, commands);
    return table(typedWords.length <= 2 ? among : [], current);
  }
  const command = commands.find((spec) => spec.name === name || spec.name === `${name} ${second}`);
  if (command === undefined)
    return table(typedWords.length === 1 ? innerNames(name, commands) : [], current);
  const before = typedWords.slice(command.name.split(" ").length);
  const line = read(command, before);
  const { awaited, isOver, typed, options } = line;
  const value = (spec: { offers?: Offers; summary: string }, prefix: string): Wanted =>
    valueOf([spec], { prefix, current, typed, options });
  if (awaited !== undefined) return value(awaited, "");
  if (!isOver && current.startsWith("-")) {
    const [, prefix, of] = /^(--([^=]+)=)/.exec(current) ?? [];
    if (prefix === undefined) return table(optionNames(command, options), current);
    const option = command.options.find((spec) => spec.name === of && spec.value !== undefined);
    return option === undefined ? table([], current) : value(option, prefix);
  }
  return valueOf(argumentsAt(command, typed.length), { prefix: "", current, typed, options });
}

interface Line {
  /** The option whose value comes next. */
  readonly awaited: OptionSpec | undefined;
  /** After `--` all words are arguments. */
  readonly isOver: boolean;
  readonly typed: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

function read(command: CommandSpec, before: readonly string[]): Line {
  const typed: string[] = [];
  const options = new Map<string, string>();
  let awaited: OptionSpec | undefined;
  let isOver = false;
  for (const word of before) {
    if (awaited !== undefined) {
      options.set(awaited.name, word);
      awaited = undefined;
    } else if (isOver || !/^-./.test(word)) typed.push(word);
    else if (word === "--") isOver = true;
    else {
      const [, name = "", value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
      options.set(name, value ?? "");
      const option = command.options.find((spec) => spec.name === name);
      if (option?.value !== undefined && value === undefined) awaited = option;
    }
  }
  return { awaited, isOver, typed, options };
}

/** An argument that may be left out lets the next one stand in its place. */
function argumentsAt(command: CommandSpec, index: number): CommandSpec["arguments"] {
  const many = command.arguments.at(-1)?.isMany === true ? command.arguments.length - 1 : index;
  const rest = command.arguments.slice(Math.min(index, many));
  const last = rest.findIndex((spec) => spec.required);
  return last === -1 ? rest : rest.slice(0, last + 1);
}

interface Typing extends Pick<Wanted, "prefix" | "typed" | "options"> {
  readonly current: string;
}

function valueOf(
  specs: readonly { readonly offers?: Offers; readonly summary: string }[],
  { prefix, current, typed, options }: Typing,
): Wanted {
  const words: Offer[] = [];
  const kinds: Wanted["kinds"][number][] = [];
  for (const { offers, summary } of specs) {
    if (offers === undefined) continue;
    if (typeof offers === "string") kinds.push(offers);
    else words.push(...offers.map((word) => ({ word: `${prefix}${word}`, summary })));
  }
  return { words: words.filter(startsWith(current)), kinds, prefix, typed, options };
}

/** Words of the table; options only once a dash is typed. */
function table(words: readonly Offer[], current: string): Wanted {
  const shown = words.filter(({ word }) => current.startsWith("-") || !word.startsWith("-"));
  const found = shown.filter(startsWith(current));
  return { words: found, kinds: [], prefix: "", typed: [], options: new Map() };
}

export function startsWith(current: string): (offer: Offer) => boolean {
  return ({ word }) => word.startsWith(current);
}

function commandNames(commands: readonly CommandSpec[]): Offer[] {
  const named = Map.groupBy(commands, ({ name }) => name.split(" ")[0]!);
  const offers = Array.from(named, ([word, specs]) => {
    const inner = innerNames(word, specs).map((offer) => offer.word);
    return { word, summary: inner.length > 0 ? inner.join(", ") : specs[0]!.summary };
  });
  return [...offers, { word: "help", summary: "explain a command" }];
}

/** The second words of the commands that begin with the first. */
function innerNames(first: string, commands: readonly CommandSpec[]): Offer[] {
  return commands.flatMap(({ name, summary }) => {
    const [word, inner] = name.split(" ");
    return word === first && inner !== undefined ? [{ word: inner, summary }] : [];
  });
}

const general: readonly Offer[] = [
  { word: "--help", summary: "what there is" },
  { word: "--version", summary: "the version" },
];

function optionNames(command: CommandSpec, given: ReadonlyMap<string, string>): Offer[] {
  const left = command.options.filter((spec) => !given.has(spec.name));
  return [
    ...left.map(({ name, summary }) => ({ word: `--${name}`, summary })),
    { word: "--help", summary: "explain this command" },
  ];
}
