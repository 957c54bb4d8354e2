// Commands about an agent folder itself.

import type { CommandSpec } from "../command.ts";
import { dir, model, state, json } from "./shared.ts";

export const folder: readonly CommandSpec[] = [
  {
    name: "init",
    summary: "write a small working agent folder",
    details: [
      "Never overwrites: a file that exists is kept, and a folder that already is an agent is refused.",
    ],
    arguments: [{ ...dir, summary: "where to; the current directory where it is left out" }],
    options: [],
    examples: ["lichen init my-agent"],
    load: () => import("../command/init.ts"),
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
    load: () => import("../command/info.ts"),
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
    load: () => import("../command/models.ts"),
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
            : `takes a whole number from 1 to 999999, not "${value}"`,
      },
      { name: "keep", summary: "keep the copies, and say where they are" },
      json,
    ],
    examples: [
      'lichen crashtest examples/notes "write a note that says hello"',
      'lichen crashtest "tidy up" --every 3 --json',
    ],
    load: () => import("../command/crashtest.ts"),
  },
];
