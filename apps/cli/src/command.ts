// What a command is: data that help, parsing and dispatch all read. Its program is imported only when it runs.

import type { Terminal } from "./terminal.ts";

export interface CommandSpec {
  /** One word, or two of which the first names what the command belongs to. */
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What the summary leaves out; short paragraphs. */
  readonly details: readonly string[];
  readonly arguments: readonly ArgumentSpec[];
  readonly options: readonly OptionSpec[];
  readonly examples: readonly string[];
  /** Takes the words behind `--`, whatever they look like. */
  readonly rest?: { readonly name: string; readonly summary: string };
  /** Said in place of words that are not understood, which may be secrets. */
  readonly hidesWords?: string;
  load(): Promise<{ run: Program }>;
}

export interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly required: boolean;
  /** The last argument alone: takes all further words, as `values`. */
  readonly isMany?: boolean;
  readonly offers?: Offers;
}

export interface OptionSpec {
  /** Without the dashes. */
  readonly name: string;
  readonly summary: string;
  /** How its value is called; an option without one is a flag. */
  readonly value?: string;
  /** Why a value cannot be taken; undefined where it can. */
  readonly refuse?: (value: string) => string | undefined;
  readonly offers?: Offers;
}

/** What the Tab key offers for a value: these words, or what there is of a kind. */
export type Offers =
  | readonly string[]
  | "folder"
  | "file"
  | "session"
  | "machine-session"
  /** Of an agent or of the machine. */
  | "any-session"
  | "approval"
  | "tool"
  | "capability"
  | "model";

/** Answers the exit code: 0 done, 1 failed or refused. Usage errors are thrown. */
type Program = (input: Input, terminal: Terminal) => Promise<number>;

/** A parsed command line, by the names of the spec. */
export interface Input {
  argument(name: string): string | undefined;
  /** The last one, where an option is given more than once. */
  value(name: string): string | undefined;
  /** All of them, in their order: of an option, or of an argument that takes many. */
  values(name: string): readonly string[];
  flag(name: string): boolean;
  /** The words behind `--`, of a command that takes them. */
  readonly rest: readonly string[];
}

/** The command line cannot be understood: exit 2, with a hint where one exists. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}
