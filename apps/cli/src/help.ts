// Help, rendered from the table: what is not in the table cannot be promised here.

import type { CommandSpec } from "./command.ts";

export function renderHelp(commands: readonly CommandSpec[]): string {
  return lines([
    "Lichen: a durable home for agents on machines you own.",
    "",
    "Usage: lichen <command> [arguments] [options]",
    "",
    "Commands:",
    ...columns([
      ...commands.map((command): [string, string] => [brief(command), command.summary]),
      ["help [command]", "explain a command"],
    ]),
    "",
    "Options:",
    ...columns([
      ["-h, --help", "this text; after a command, that command's"],
      ["-v, --version", "the version"],
    ]),
    "",
    "Environment:",
    ...columns([
      ["LICHEN_MODEL", "the model, as provider/id; --model wins"],
      ["LICHEN_STATE_DIR", "where conversations are kept; --state wins"],
      ["LICHEN_AGENT", "which agent folder, where a directory holds several"],
      ["LICHEN_TOKEN", "the token of the host to attach to; --token-file wins"],
      ["LICHEN_THEME", "the colours, dark or light; --theme wins"],
      ["LICHEN_LOG_LEVEL", "debug, info, warn or error"],
      ["LICHEN_COMPLETION_MS", "how long the Tab key may wait (default: 1000)"],
    ]),
    "  Variables in the agent folder's .secrets/.env count too; the real environment wins.",
    "",
    "Answers go to stdout, all else to stderr. Exit codes: 0 done, 1 failed or refused,",
    "2 not understood, 130 interrupted.",
  ]);
}

export function renderCommandHelp(command: CommandSpec): string {
  const { arguments: args, options, examples, details } = command;
  return lines([
    `Usage: lichen ${synopsis(command, options.length > 0 ? ["[options]"] : [])}`,
    "",
    `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}.`,
    ...details.flatMap((paragraph) => ["", ...wrapped(paragraph, 88)]),
    ...section(
      "Arguments:",
      [...args, ...(command.rest === undefined ? [] : [command.rest])].map((spec) => [
        spec.name,
        spec.summary,
      ]),
    ),
    ...section(
      "Options:",
      options.map((spec) => [
        spec.value === undefined ? `--${spec.name}` : `--${spec.name} <${spec.value}>`,
        spec.summary,
      ]),
    ),
    ...(examples.length === 0 ? [] : ["", "Examples:", ...examples.map((line) => `  ${line}`)]),
  ]);
}

/** The commands that belong together. */
export function renderGroupHelp(group: readonly CommandSpec[]): string {
  const name = group[0]?.name.split(" ")[0] ?? "";
  return lines([
    `Usage: lichen ${name} <command> [arguments] [options]`,
    "",
    "Commands:",
    ...columns(group.map((command): [string, string] => [synopsis(command), command.summary])),
    "",
    `\`lichen help ${name} <command>\` explains one of them.`,
  ]);
}

/** Of a command of two words what it needs; its own help says the rest. */
function brief(command: CommandSpec): string {
  if (!command.name.includes(" ")) return synopsis(command);
  const needed = command.arguments.filter((spec) => spec.required).map((spec) => `<${spec.name}>`);
  return [command.name, ...needed].join(" ");
}

/** `options` stand before a `--`: what follows it belongs to the program there. */
function synopsis(command: CommandSpec, options: readonly string[] = []): string {
  const words = command.arguments.map((spec) => {
    const name = `${spec.name}${spec.isMany === true ? "…" : ""}`;
    return spec.required ? `<${name}>` : `[${name}]`;
  });
  const rest = command.rest === undefined ? [] : [`[-- ${command.rest.name}…]`];
  return [command.name, ...words, ...options, ...rest].join(" ");
}

function section(title: string, rows: readonly [string, string][]): string[] {
  return rows.length === 0 ? [] : ["", title, ...columns(rows)];
}

function columns(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`);
}

function wrapped(text: string, width: number): string[] {
  const out: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length >= width) {
      out.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...out, line];
}

function lines(all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
