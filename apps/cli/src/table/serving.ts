// Commands that serve an agent folder.

import type { CommandSpec } from "../command.ts";
import { dir, listening } from "./shared.ts";

export const serving: readonly CommandSpec[] = [
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
    load: () => import("../command/start.ts"),
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
    load: () => import("../command/dev.ts"),
  },
];
