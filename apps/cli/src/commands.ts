// The table of commands: what exists, how it is called, and where its program is.

import { isIP } from "node:net";
import type { ArgumentSpec, CommandSpec, OptionSpec } from "./command.ts";

const dir: ArgumentSpec = {
  name: "dir",
  summary: "the agent folder; the current directory where it is left out",
  required: false,
};
const state: OptionSpec = {
  name: "state",
  value: "dir",
  summary: "where conversations are kept (default: ~/.local/share/lichen/<agent id>)",
};
const model: OptionSpec = {
  name: "model",
  value: "provider/id",
  summary: "the model, before LICHEN_MODEL and the folder's own config",
  refuse: (value) =>
    value === "demo" || /^[^/\s]+\/\S+$/.test(value)
      ? undefined
      : `takes provider/id (see \`lichen models\`) or demo, not "${value}"`,
};
const json: OptionSpec = { name: "json", summary: "answer in JSON, for programs" };
const listening: readonly OptionSpec[] = [
  {
    name: "port",
    value: "number",
    summary: "the port to listen on; 0 picks a free one (default: the config's, else 7387)",
    refuse: (value) =>
      /^\d{1,5}$/.test(value) && Number(value) <= 65_535
        ? undefined
        : `takes a number from 0 to 65535, not "${value}"`,
  },
  {
    name: "bind",
    value: "address",
    summary: "the address to listen on (default: the config's, else 127.0.0.1)",
    refuse: (value) =>
      value === "localhost" || isIP(value) !== 0
        ? undefined
        : `takes an IP address or localhost, not "${value}"`,
  },
  state,
  model,
  { name: "json", summary: 'print {"url","token"} as the first line once it listens' },
];

export const commands: readonly CommandSpec[] = [
  {
    name: "start",
    summary: "serve an agent folder",
    details: [
      "Opens the agent's store, goes on with work that an earlier process left, and listens. " +
        "SIGTERM and Ctrl-C stop it: it takes no new work, ends every open stream and is gone within ten seconds; " +
        "what still ran goes on at the next start.",
    ],
    arguments: [dir],
    options: listening,
    examples: ["lichen start", "lichen start examples/hello --port 0 --json"],
    load: () => import("./command/start.ts"),
  },
  {
    name: "dev",
    summary: "serve an agent folder while you change it",
    details: [
      "Like start, and says what it picks up. persona.md, AGENTS.md, skills, tools, lichen.config.ts " +
        "and models.json are read again before every turn; http settings take a new start.",
    ],
    arguments: [dir],
    options: listening,
    examples: ["lichen dev", "lichen dev my-agent --model anthropic/claude-sonnet-4-5"],
    load: () => import("./command/dev.ts"),
  },
  {
    name: "invoke",
    summary: "send one message and print the answer",
    details: [
      "Uses the host that `lichen start` runs for this folder; where none answers, it opens the store itself. " +
        "The answer goes to stdout, tools and notes to stderr. Ctrl-C cancels the run, a second one quits at once. " +
        "A - as text reads it from stdin.",
    ],
    arguments: [{ name: "text", summary: "the message", required: true }, dir],
    options: [
      {
        name: "session",
        value: "id",
        summary: "the conversation to go on with (default: a new one)",
      },
      model,
      state,
      { name: "json", summary: "print the settlement as one line of JSON" },
    ],
    examples: [
      'lichen invoke "What can you do?"',
      'lichen invoke "And tomorrow?" --session weather',
      "git diff | lichen invoke - my-agent",
    ],
    load: () => import("./command/invoke.ts"),
  },
  {
    name: "init",
    summary: "write a small working agent folder",
    details: [
      "Never overwrites: a file that exists is kept, and a folder that already is an agent is refused.",
    ],
    arguments: [{ ...dir, summary: "where to; the current directory where it is left out" }],
    options: [],
    examples: ["lichen init my-agent"],
    load: () => import("./command/init.ts"),
  },
  {
    name: "info",
    summary: "show what an agent folder holds and where its state is",
    details: ["Reads only: nothing is made, started or asked of a provider."],
    arguments: [dir],
    options: [model, state, json],
    examples: ["lichen info", "lichen info my-agent --json"],
    load: () => import("./command/info.ts"),
  },
  {
    name: "models",
    summary: "list the models that can be named",
    details: [
      "One provider/id a line. The ones whose key or login is at hand come first; " +
        "the folder's models.json counts when the current directory is an agent folder.",
    ],
    arguments: [{ name: "search", summary: "show only those that contain this", required: false }],
    options: [json],
    examples: ["lichen models", "lichen models sonnet"],
    load: () => import("./command/models.ts"),
  },
];
