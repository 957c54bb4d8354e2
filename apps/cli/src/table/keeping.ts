// Commands that keep Lichen itself in order: what is wrong with it, and its keys and logins.

import type { CommandSpec } from "../command.ts";
import { dir, json, state } from "./shared.ts";

export const keeping: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "say what is found, what is missing and how to mend it",
    details: [
      "Looks at Node, the agent folder, its model and credentials, the state directory with its store and token, the " +
        "host that serves it, the port, the sandbox, Claude Code and pi, this computer's machine with its sessions, and the " +
        "terminal. Changes nothing, asks no provider anything, and " +
        "disturbs no host. Works outside of an agent folder too. Each line begins with ok, note or fail; ends with 1 " +
        "where something fails.",
      "--salvage copies what is readable of a damaged store into a new state directory, and tells for each " +
        "conversation what was kept and what is lost. The damaged store is only read. What was open in a conversation " +
        "whose end is lost ends there as unknown: nothing is done twice.",
    ],
    arguments: [dir],
    options: [
      state,
      {
        name: "salvage",
        value: "new-dir",
        summary: "copy what is readable of a damaged store there, and check nothing",
        offers: "folder",
      },
      json,
    ],
    examples: [
      "lichen doctor",
      "lichen doctor my-agent --json",
      "lichen doctor my-agent --salvage ~/salvaged",
    ],
    load: () => import("../command/doctor.ts"),
  },
  {
    name: "login",
    summary: "sign in to a model provider, or forget a login",
    details: [
      "Asks for a key, of which nothing is shown, or shows the address and code to sign in with an account. What comes " +
        "of it is kept in one file of this user (0600) for all agents. No secret is ever printed, logged or taken from " +
        "the command line.",
      "Without a provider it lists them: how to sign in, and what is at hand.",
    ],
    arguments: [
      { name: "provider", summary: "such as anthropic; left out, all are listed", required: false },
    ],
    options: [
      { name: "list", summary: "list the providers and ask nothing" },
      { name: "remove", summary: "forget what is stored for the provider" },
      { name: "key-stdin", summary: "read a key from stdin" },
      json,
    ],
    hidesWords:
      "a key is never an argument, where the shell's history would keep it; it is asked for, or read with --key-stdin",
    examples: [
      "lichen login",
      "lichen login anthropic",
      "lichen login groq --key-stdin < key.txt",
      "lichen login groq --remove",
    ],
    load: () => import("../command/login.ts"),
  },
];
