// Commands that talk to an agent, from wherever it is served.

import type { CommandSpec } from "../command.ts";
import { dir, model, state } from "./shared.ts";

export const talking: readonly CommandSpec[] = [
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
    load: () => import("../command/invoke.ts"),
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
    load: () => import("../command/approve.ts"),
  },
];
