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
    name: "approve",
    summary: "answer what an agent asks before it acts",
    details: [
      "Without an id it lists what waits for a person. With one it allows that, or refuses it with --deny, and shows " +
        "how the run goes on. Uses the host that runs for this folder; where none answers, it opens the store itself " +
        "and stays until the run is done.",
    ],
    arguments: [
      {
        name: "approvalId",
        summary: "what to answer, such as apr_3wklk58v8jrz_13",
        required: false,
      },
      dir,
    ],
    options: [
      { name: "session", value: "id", summary: "only what this conversation waits for" },
      { name: "deny", summary: "refuse it; the run goes on without" },
      {
        name: "message",
        value: "text",
        summary: "what the agent is told with it; the answer, where it asks a question",
      },
      state,
      { name: "json", summary: "print the list, or the settlement, as one line of JSON" },
    ],
    examples: [
      "lichen approve",
      "lichen approve apr_3wklk58v8jrz_13",
      'lichen approve apr_3wklk58v8jrz_13 --deny --message "not today"',
    ],
    load: () => import("./command/approve.ts"),
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
    details: [
      "Starts nothing and asks no provider. It only reads, and gives a folder that has none yet its id " +
        "(.lichen/agent.json).",
    ],
    arguments: [dir],
    options: [model, state, json],
    examples: ["lichen info", "lichen info my-agent --json"],
    load: () => import("./command/info.ts"),
  },
  {
    name: "models",
    summary: "list the models that can be named",
    details: [
      "One provider/id a line. The ones whose credentials are at hand come first; " +
        "the folder's models.json counts when the current directory is an agent folder.",
    ],
    arguments: [{ name: "search", summary: "show only those that contain this", required: false }],
    options: [json],
    examples: ["lichen models", "lichen models sonnet"],
    load: () => import("./command/models.ts"),
  },
  {
    name: "crashtest",
    summary: "kill an agent at every point of a run and see that nothing is lost or repeated",
    details: [
      "Works in copies of the folder and of its state. Runs the prompt once and counts: every approval is allowed. " +
        "Then again for every durable write, with a SIGKILL right after it, and for every effect, before its outcome " +
        "is written; opens the agent again and waits for the end. What a tool does outside of the folder really " +
        "happens, each time. The model is asked in the first run only.",
      "lost: an acknowledged command or entry is missing. repeated: a write ran twice; one that is declared " +
        "replay-safe may, if that leaves the folder as it was. unfinished: no settlement in time. unknown: a write " +
        "was interrupted and the log says so, which is no error. Any of the first three ends with 1.",
    ],
    arguments: [dir, { name: "prompt", summary: "what the agent is asked to do", required: true }],
    options: [
      model,
      state,
      {
        name: "points",
        value: "ids",
        summary: "only these crash points, such as w1,w4,e1 (writes and effects)",
        refuse: (value) =>
          /^[we][1-9]\d*(,[we][1-9]\d*)*$/.test(value)
            ? undefined
            : `takes crash points such as w1,w4,e1, not "${value}"`,
      },
      {
        name: "every",
        value: "number",
        summary: "only every n-th crash point",
        refuse: (value) =>
          /^[1-9]\d{0,5}$/.test(value)
            ? undefined
            : `takes a whole number from 1 on, not "${value}"`,
      },
      { name: "keep", summary: "keep the copies, and say where they are" },
      json,
    ],
    examples: [
      'lichen crashtest examples/notes "write a note that says hello"',
      'lichen crashtest "tidy up" --every 3 --json',
    ],
    load: () => import("./command/crashtest.ts"),
  },
];
