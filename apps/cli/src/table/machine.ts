// Commands of this computer's machine: its coding agents, its devices, its service.

import type { ArgumentSpec, CommandSpec, OptionSpec } from "../command.ts";
import { json, listening, on } from "./shared.ts";

const state: OptionSpec = {
  name: "state",
  value: "dir",
  summary: "the machine's state (default: ~/.local/share/lichen/machine)",
  offers: "folder",
};
const name: ArgumentSpec = {
  name: "name",
  summary: "the session's name",
  required: true,
  offers: "machine-session",
};
const address = listening
  .filter(({ name: option }) => ["port", "bind", "public-url", "allow-host"].includes(option))
  .map((option) => ({ ...option, summary: option.summary.replace("the config's, else ", "") }));
const folders: ArgumentSpec = {
  name: "folder",
  summary: "agent folders to serve from now on",
  required: false,
  isMany: true,
  offers: "folder",
};
const onOff = (option: string, summary: string): OptionSpec => ({
  name: option,
  value: "on|off",
  summary,
  offers: ["on", "off"],
  refuse: (value) =>
    value === "on" || value === "off" ? undefined : `takes on or off, not "${value}"`,
});
const yes: OptionSpec = { name: "yes", summary: "ask nothing" };

export const machine: readonly CommandSpec[] = [
  {
    name: "up",
    summary: "serve this computer's coding agents, such as Claude Code and pi, and agent folders",
    details: [
      "Opens the machine's state, goes on with what an earlier process left, and listens. Each session of a coding agent " +
        "is made with `lichen new`; its process begins with the first message. SIGTERM and Ctrl-C stop it: what still " +
        "ran goes on at the next start. `lichen service install` starts it with the computer.",
      "It listens on this computer alone unless --bind names an address of a network (0.0.0.0 is all of them). What stands " +
        "in front of it (a proxy with TLS, a tunnel) is named with --public-url, which `lichen pair` then shows to devices.",
      "Agent folders that are named are served beside them, as `lichen start` does one, in the same store and under the " +
        "same token, and again at every later start, until --without lets one go: its conversations stay, and are there " +
        "again when its folder is named again.",
    ],
    arguments: [folders],
    options: [
      ...address,
      {
        name: "without",
        value: "agent",
        summary: "serve this folder's agent no more (its name, id or folder); may be given often",
      },
      state,
      { name: "json", summary: 'print {"url","token"} as the first line once it listens' },
    ],
    examples: [
      "lichen up",
      "lichen up ~/agents/hello",
      "lichen up --bind 192.168.1.5",
      "lichen up --public-url https://lichen.example",
    ],
    load: () => import("../command/up.ts"),
  },
  {
    name: "ps",
    summary: "list this machine's coding agents",
    details: [
      "One session a line: name, harness, state, directory, when something last happened, what waits for a person, and " +
        "what was said last.",
    ],
    arguments: [],
    options: [state, on, json],
    examples: ["lichen ps", "lichen ps --json"],
    load: () => import("../command/ps.ts"),
  },
  {
    name: "new",
    summary: "make a session of a coding agent on this machine",
    details: [
      "The session works in its directory, which is made where it is missing, and keeps its name, its conversation and its " +
        "settings over restarts. claude is Claude Code, pi is pi, and acp is any agent of the Agent Client Protocol, whose " +
        "command comes after a --. Nothing is started until the first message.",
    ],
    arguments: [
      { name: "name", summary: "letters, digits, . _ and -", required: true },
      {
        name: "dir",
        summary: "where it works; the current directory where it is left out",
        required: false,
        offers: "folder",
      },
    ],
    rest: { name: "command", summary: "of acp: the agent's program, and its arguments" },
    options: [
      {
        name: "harness",
        value: "name",
        summary: "claude, pi or acp (default: acp with a command, else the first that is found)",
        offers: ["claude", "pi", "acp"],
        refuse: (value) =>
          /^[\w-]{1,64}$/.test(value) ? undefined : `takes claude, pi or acp, not "${value}"`,
      },
      { name: "model", value: "name", summary: "the model, as the coding agent calls it" },
      { name: "auto-approve", summary: "allow its tools without asking; its questions still ask" },
      { name: "keep-running", summary: "keep its process up, also with nothing to do" },
      state,
      on,
      { ...json, summary: "print the session as one line of JSON" },
    ],
    examples: [
      "lichen new demo . --harness pi",
      "lichen new site ~/site --harness claude --keep-running",
      "lichen new other ~/other --harness acp -- gemini --acp",
    ],
    load: () => import("../command/new.ts"),
  },
  {
    name: "log",
    summary: "show what was said and done in a session of this machine",
    details: [
      "Messages, answers, tools, what was asked and how runs ended, oldest first. --follow goes on until Ctrl-C (0, and " +
        "nothing is stopped by it), also over restarts of the machine.",
    ],
    arguments: [name],
    options: [
      { name: "follow", summary: "go on with what comes" },
      {
        name: "limit",
        value: "number",
        summary: "how many of the latest (default: 50)",
        refuse: (value) =>
          /^[1-9]\d{0,5}$/.test(value)
            ? undefined
            : `takes a whole number from 1 to 999999, not "${value}"`,
      },
      state,
      on,
      { ...json, summary: "print each entry as one line of JSON" },
    ],
    examples: ["lichen log demo", "lichen log demo --follow"],
    load: () => import("../command/log.ts"),
  },
  {
    name: "restart",
    summary: "end a session's process and start it again on its conversation",
    details: ["The turn in hand is lost; what waits goes on."],
    arguments: [name],
    options: [state, on],
    examples: ["lichen restart demo"],
    load: () => import("../command/restart.ts"),
  },
  {
    name: "rename",
    summary: "give a session of this machine another name",
    details: [
      "Its conversation goes on undisturbed: the name is a label, and clients see it change.",
    ],
    arguments: [name, { name: "new", summary: "its new name", required: true }],
    options: [state, on],
    examples: ["lichen rename demo site"],
    load: () => import("../command/rename.ts"),
  },
  {
    name: "set",
    summary: "change how a session of this machine is run, or show it",
    details: [
      "Each setting holds from now on, also for what the session does just then. With --auto-approve on, the tools that wait are " +
        "allowed too; questions stay yours. Without a setting it shows them all.",
    ],
    arguments: [name],
    options: [
      onOff("auto-approve", "allow its tools without asking; its questions still ask"),
      onOff("keep-running", "keep its process up, also with nothing to do"),
      onOff("star", "mark it for whoever lists sessions"),
      {
        name: "model",
        value: "name",
        summary: "the model, as the coding agent calls it; default is its own choice",
      },
      state,
      on,
      { ...json, summary: "print the session as one line of JSON" },
    ],
    examples: ["lichen set demo", "lichen set demo --auto-approve on --model sonnet"],
    load: () => import("../command/set.ts"),
  },
  {
    name: "rm",
    summary: "remove a session of this machine, with its process and its log",
    details: [
      "Asks first. Its directory stays as it is, and so does the coding agent's own transcript: `lichen adopt` can " +
        "continue that.",
    ],
    arguments: [name],
    options: [yes, state, on],
    examples: ["lichen rm demo", "lichen rm demo --yes"],
    load: () => import("../command/rm.ts"),
  },
  {
    name: "adopt",
    summary: "continue a conversation that Claude Code or pi had on this computer",
    details: [
      "Without an id it lists them, the latest first. With one (or its beginning) the conversation goes on as a session, in its " +
        "own directory.",
      "A coding agent that still runs in a terminal there is told of: end it, so that only one goes on with the conversation. " +
        "--stop-terminal does that from here, once you said so.",
    ],
    arguments: [{ name: "id", summary: "the conversation's id", required: false }],
    options: [
      {
        name: "name",
        value: "name",
        summary: "what the session is called (default: its directory's name)",
      },
      {
        name: "harness",
        value: "name",
        summary: "whose it is (default: as listed)",
        offers: ["claude", "pi"],
      },
      {
        name: "limit",
        value: "number",
        summary: "how many are listed at most (default: 30)",
        refuse: (value) =>
          /^[1-9]\d{0,2}$/.test(value)
            ? undefined
            : `takes a whole number from 1 to 999, not "${value}"`,
      },
      {
        name: "stop-terminal",
        summary: "end what runs in a terminal in its directory, after asking",
      },
      yes,
      state,
      on,
      json,
    ],
    examples: [
      "lichen adopt",
      "lichen adopt 0b6f2c9e --name site",
      "lichen adopt 0b6f2c9e --stop-terminal",
    ],
    load: () => import("../command/adopt.ts"),
  },
  {
    name: "pair",
    summary: "let another device of yours use this machine",
    details: [
      "Shows a code to scan and the address under it, and waits until a device used it or five minutes are over. The device " +
        "gets a key of its own, which `lichen devices revoke` takes back. Ctrl-C takes the code back (130).",
      "With an address that a machine elsewhere shows, this computer becomes its device, and --on that machine's host is taken " +
        "by new, ps, send, attach, approve, cancel, log, watch, restart, rename, set, rm, adopt and devices.",
    ],
    arguments: [
      {
        name: "address",
        summary: "what `lichen pair` shows on a machine: this computer becomes its device",
        required: false,
      },
    ],
    options: [
      { name: "name", value: "name", summary: "what the device is called there" },
      { name: "viewer", summary: "it reads, and changes nothing" },
      state,
      { ...json, summary: "print the code, then the device, one line of JSON each" },
    ],
    examples: [
      "lichen pair",
      "lichen pair --name phone",
      "lichen pair http://10.9.0.1:7387/pair#…",
    ],
    load: () => import("../command/pair.ts"),
  },
  {
    name: "devices",
    summary: "list the devices that may use this machine, or send one away",
    details: [
      "One a line: id, name, what it may do, when it was seen. One that is revoked is nobody from then on, and what it has open " +
        "ends at once.",
    ],
    arguments: [
      { name: "action", summary: "revoke", required: false, offers: ["revoke"] },
      { name: "id", summary: "of revoke: the device's id, such as dev_3wk…", required: false },
    ],
    options: [state, on, json],
    examples: ["lichen devices", "lichen devices revoke dev_3wklk58v8jrz"],
    load: () => import("../command/devices.ts"),
  },
  {
    name: "service install",
    summary: "start the machine when you log in, and again when it fails",
    details: [
      "Writes a service of this user (systemd on Linux, launchd on macOS) that runs `lichen up` through a login shell, so that " +
        "what your profile puts on the PATH is found; starts it. Doing it again is harmless.",
      "Keys that are set in ~/.bashrc or ~/.zshrc alone are not seen by a service: set them in ~/.profile.",
    ],
    arguments: [folders],
    options: [...address, state],
    examples: [
      "lichen service install",
      "lichen service install ~/agents/hello",
      "lichen service install --port 7400",
    ],
    load: () => import("../command/service/install.ts"),
  },
  {
    name: "service uninstall",
    summary: "stop the service and remove it; sessions stay",
    details: [],
    arguments: [],
    options: [],
    examples: ["lichen service uninstall"],
    load: () => import("../command/service/uninstall.ts"),
  },
  {
    name: "service status",
    summary: "say whether the service is installed and the machine answers",
    details: ["Ends with 1 where it is not installed or no machine answers."],
    arguments: [],
    options: [state, json],
    examples: ["lichen service status"],
    load: () => import("../command/service/status.ts"),
  },
];
