// Commands that take over the terminal.

import type { CommandSpec, OptionSpec } from "../command.ts";
import { dir, model, on, state } from "./shared.ts";

const choosing: readonly OptionSpec[] = [
  {
    name: "session",
    value: "id",
    summary: "the conversation to go on with (default: a new one)",
    offers: "session",
  },
  { name: "continue", summary: "go on with the latest active one" },
  { name: "resume", summary: "choose one from a list" },
];
const theme: OptionSpec = {
  name: "theme",
  value: "dark|light",
  summary: "the colours, before LICHEN_THEME and what the terminal says of its background",
  offers: ["dark", "light"],
  refuse: (value) =>
    value === "dark" || value === "light" ? undefined : `takes dark or light, not "${value}"`,
};

export const screen: readonly CommandSpec[] = [
  {
    name: "chat",
    summary: "talk to an agent on the whole terminal",
    details: [
      "Uses the host that `lichen start` runs for this folder; where none answers, it opens the store itself. What is " +
        "sent is kept until the host has it: a killed screen or a lost connection loses no message and sends none twice. " +
        "/help lists the keys and commands.",
    ],
    arguments: [dir],
    options: [...choosing, model, theme, state],
    examples: ["lichen chat", "lichen chat examples/notes --continue"],
    load: () => import("../command/chat.ts"),
  },
  {
    name: "attach",
    summary: "the same with a session of this machine, or on a host at an address",
    details: [
      "A name is a coding agent's session on this computer's machine (`lichen ps`).",
      "An address is a host's, on this computer or another. " +
        "The host must prove that it knows its token before it is told anything. The token is read from --token-file, " +
        "else from LICHEN_TOKEN, else asked for. Between computers use a tunnel or a mesh: what goes over plain HTTP " +
        "can be read on the way.",
    ],
    arguments: [
      {
        name: "place",
        summary: "the session's name, or where the host listens, such as http://127.0.0.1:7387",
        required: true,
        offers: "machine-session",
      },
      { name: "agent", summary: "which agent, where the host has several", required: false },
    ],
    options: [
      ...choosing,
      theme,
      {
        name: "token-file",
        value: "path",
        summary: "a file that holds the host's token",
        offers: "file",
      },
      { ...state, summary: "the machine's state (default: ~/.local/share/lichen/machine)" },
      on,
    ],
    examples: [
      "lichen attach demo",
      "lichen attach http://127.0.0.1:7387",
      "lichen attach https://host.example my-agent --token-file host.token --continue",
    ],
    load: () => import("../command/attach.ts"),
  },
];
