// Commands that help the people who write agents and type commands.

import type { CommandSpec } from "../command.ts";
import { dir, state, json } from "./shared.ts";

export const helping: readonly CommandSpec[] = [
  {
    name: "tool",
    summary: "run one tool of an agent folder by hand, or list them",
    details: [
      "Loads the folder and calls the tool as a run does: the same checks, variables, sandbox and working directory, " +
        "but no model, no session and no store; a host of the folder that runs is left alone. The result goes to " +
        "stdout, progress and notes to stderr. Without a name it lists the tools, each with its label, whether it " +
        "asks a person, and what it does.",
      "Ctrl-C aborts the tool's signal, a second one ends a tool that ignores it.",
    ],
    arguments: [
      {
        name: "name",
        summary: "the tool; left out, all are listed",
        required: false,
        offers: "tool",
      },
      {
        name: "json",
        summary: "its input, an object; - reads it from stdin (default: {})",
        required: false,
      },
      dir,
    ],
    options: [
      { name: "schema", summary: "print the JSON schema of its input and run nothing" },
      { name: "yes", summary: "run it though it asks a person first" },
      state,
      { ...json, summary: "print the list, or {content,data,isError}, as one line of JSON" },
    ],
    examples: [
      "lichen tool",
      "lichen tool dice '{\"count\":2}' examples/hello",
      "lichen tool dice --schema examples/hello",
      "lichen tool note_write - examples/notes < note.json",
    ],
    load: () => import("../command/tool.ts"),
  },
  {
    name: "completion",
    summary: "print what makes the Tab key complete lichen's commands in a shell",
    details: [
      'bash, in ~/.bashrc: eval "$(lichen completion bash)"',
      'zsh, in ~/.zshrc, after compinit: eval "$(lichen completion zsh)"',
      "fish, once: lichen completion fish > ~/.config/fish/completions/lichen.fish",
      "It completes commands, options and their values, folders, tools, models, and the sessions and approvals of a " +
        "host that runs. The script asks `lichen completion --words <words>` at each Tab, which starts nothing, runs " +
        "no code of an agent, and has a second for it; LICHEN_COMPLETION_MS, in milliseconds, gives it another time.",
    ],
    arguments: [
      {
        name: "shell",
        summary: "bash, zsh or fish",
        required: true,
        offers: ["bash", "zsh", "fish"],
      },
    ],
    options: [],
    examples: [
      "lichen completion bash",
      "lichen completion fish > ~/.config/fish/completions/lichen.fish",
    ],
    load: () => import("../command/completion.ts"),
  },
];
