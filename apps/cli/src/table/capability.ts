// Commands about what an agent may call.

import type { ArgumentSpec, CommandSpec, OptionSpec } from "../command.ts";
import { dir, json, state } from "./shared.ts";

const name: ArgumentSpec = {
  name: "name",
  summary: "what it is called in code, or its id",
  required: true,
  offers: "capability",
};
const label: OptionSpec = {
  name: "label",
  value: "operation=label",
  summary: "read, write or confirm, for one operation; may be given several times",
  refuse: (value) =>
    /^.+=(read|write|confirm)$/s.test(value)
      ? undefined
      : `takes an operation and read, write or confirm, such as list_issues=read, not "${value}"`,
};
const called: OptionSpec = {
  name: "name",
  value: "name",
  summary: "what code calls it, and grants (default: what it says of itself)",
  refuse: (value) =>
    /^[A-Za-z_$][\w$]{0,63}$/.test(value)
      ? undefined
      : `takes a name as in JavaScript: letters, digits, _ and $, at most 64, not "${value}"`,
};
const description: OptionSpec = {
  name: "description",
  value: "text",
  summary: "one line for the model: what it lends",
  refuse: (value) => (value.length > 500 ? "takes at most 500 characters" : undefined),
};

export const capability: readonly CommandSpec[] = [
  {
    name: "capability list",
    summary: "list what an agent may call",
    details: [
      "One a line: name, kind, state, how many operations, how its calls are authorised, what is wrong with it.",
    ],
    arguments: [dir],
    options: [state, json],
    examples: ["lichen capability list", "lichen capability list my-agent --json"],
    load: () => import("../command/capability/list.ts"),
  },
  {
    name: "capability show",
    summary: "show one of them with its operations",
    details: [
      "Each operation with its label and the types of what it takes and gives, as code sees them.",
    ],
    arguments: [name, dir],
    options: [state, json],
    examples: ["lichen capability show github", "lichen capability show github my-agent --json"],
    load: () => import("../command/capability/show.ts"),
  },
  {
    name: "capability add",
    summary: "let an agent call a server, a service or files",
    details: [
      "mcp is an MCP server: at an address (--url), or a program that runs beside the agent, whose words come after a --. " +
        "openapi is an HTTP service with an OpenAPI document (--spec, an address or a file). files is a folder " +
        "(--root), which may only be read without --write. skills is a folder of skills, named as <source>. ui shows " +
        "data to the person and asks them.",
      "A secret is never an argument: --secret names a variable of the environment or of the agent's .secrets/.env, and " +
        "its value is asked for at each call. --oauth lets a person sign in with `lichen capability auth`.",
      "What nobody has labelled counts as a write. An operation labelled confirm asks a person at each call.",
      "It is kept with the agent's conversations. What belongs to the folder is written there instead: " +
        "connections/<name>.ts.",
    ],
    arguments: [
      {
        name: "kind",
        summary: "mcp, openapi, files, skills or ui",
        required: true,
        offers: ["mcp", "openapi", "files", "skills", "ui"],
      },
      {
        name: "source",
        summary: "of skills: their folder",
        required: false,
        offers: "folder",
      },
      dir,
    ],
    rest: { name: "command", summary: "of mcp: the program to run, and its arguments" },
    options: [
      called,
      { name: "url", value: "address", summary: "of mcp: where the server is" },
      {
        name: "env",
        value: "variable=secret",
        summary:
          "of an mcp program: a variable that it gets, and the secret's name; may be repeated",
        refuse: (value) =>
          /^[A-Za-z_]\w{0,127}=[A-Za-z_]\w{0,127}$/.test(value)
            ? undefined
            : "takes a variable and the name of a secret, such as API_KEY=MY_API_KEY; the secret itself belongs into .secrets/.env",
      },
      {
        name: "spec",
        value: "address or file",
        summary: "of openapi: its document",
        offers: "file",
      },
      {
        name: "base-url",
        value: "address",
        summary: "of openapi: where the service is, if not where its document says",
      },
      { name: "safe-methods", summary: "of openapi: GET, HEAD and OPTIONS only read" },
      { name: "root", value: "folder", summary: "of files: their folder", offers: "folder" },
      { name: "write", summary: "of files: they may be written" },
      {
        name: "secret",
        value: "name",
        summary: "the variable that holds the secret of its header",
      },
      {
        name: "header",
        value: "name",
        summary: "the header it goes into (default: Authorization, as Bearer)",
      },
      { name: "oauth", summary: "a person signs in, with OAuth" },
      {
        name: "scope",
        value: "scope",
        summary: "of oauth: what is asked for; may be given several times",
      },
      { name: "client-id", value: "id", summary: "of oauth: a client that is registered already" },
      label,
      {
        name: "grant",
        value: "key",
        summary: "the key that grants go by (default: its name)",
      },
      description,
      { name: "keep", summary: "keep it also where its server cannot be reached now" },
      state,
      { ...json, summary: "print what was added as one line of JSON" },
    ],
    examples: [
      "lichen capability add mcp --name example --url https://mcp.example.com/mcp --oauth",
      "lichen capability add mcp --name memory -- npx -y @modelcontextprotocol/server-memory",
      "lichen capability add openapi --name example --spec https://api.example.com/openapi.json --secret EXAMPLE_TOKEN",
      "lichen capability add files --root ~/notes --name notes --write",
    ],
    load: () => import("../command/capability/add.ts"),
  },
  {
    name: "capability change",
    summary: "rename or relabel one",
    details: [
      "Labels that are given replace those of the same operations. Code that still uses the old name is told the new one. " +
        "One that belongs to the agent's folder is changed there.",
    ],
    arguments: [name, dir],
    options: [
      called,
      label,
      {
        name: "unlabel",
        value: "operation",
        summary: "take its label away: it counts as a write again; may be given several times",
      },
      description,
      state,
      json,
    ],
    examples: [
      "lichen capability change github --name work",
      "lichen capability change github --label create_issue=confirm",
    ],
    load: () => import("../command/capability/change.ts"),
  },
  {
    name: "capability refresh",
    summary: "ask its server again what it lends",
    details: [
      "One that could not be had is tried again at once; one that lends already is asked for what is new. 1 where its " +
        "server cannot be reached.",
    ],
    arguments: [name, dir],
    options: [state, json],
    examples: ["lichen capability refresh github"],
    load: () => import("../command/capability/refresh.ts"),
  },
  {
    name: "capability detach",
    summary: "take one away; nothing of it is called any more",
    details: ["Also a call that is on its way is ended. Its sign-in is forgotten as well."],
    arguments: [name, dir],
    options: [state],
    examples: ["lichen capability detach github"],
    load: () => import("../command/capability/detach.ts"),
  },
  {
    name: "capability auth",
    summary: "sign in to one, or see how its calls are authorised",
    details: [
      "Prints the address to sign in at, waits for it (15 minutes at most) and says what was granted. What comes of it is " +
        "kept for this user alone (0600). Where calls go with a secret, or with none, it says whether that is at hand.",
    ],
    arguments: [name, dir],
    options: [
      { name: "remove", summary: "forget the sign-in" },
      state,
      { ...json, summary: "print the address and the outcome, one line of JSON each" },
    ],
    examples: ["lichen capability auth github", "lichen capability auth github --remove"],
    load: () => import("../command/capability/auth.ts"),
  },
  {
    name: "capability call",
    summary: "call one operation by hand",
    details: [
      "Prints what it gives as JSON; 1 where it fails. One that a person must allow asks at the terminal. No model and no " +
        "conversation has a part in it.",
    ],
    arguments: [
      name,
      { name: "operation", summary: "such as list_issues", required: true },
      {
        name: "json",
        summary: "its input, an object; - reads it from stdin (default: {})",
        required: false,
      },
      dir,
    ],
    options: [
      { name: "yes", summary: "run it though it asks a person first" },
      state,
      { ...json, summary: "print {ok,value} or {ok,code,message} as one line" },
    ],
    examples: [
      'lichen capability call github list_issues \'{"state":"open"}\'',
      "lichen capability call notes write - my-agent --yes < note.json",
    ],
    load: () => import("../command/capability/call.ts"),
  },
];
