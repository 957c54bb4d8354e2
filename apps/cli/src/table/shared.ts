// The arguments and options that several commands take.

import { isIP } from "node:net";
import type { ArgumentSpec, OptionSpec } from "../command.ts";

export const dir: ArgumentSpec = {
  name: "dir",
  summary: "the agent folder; the current directory where it is left out",
  required: false,
  offers: "folder",
};
export const state: OptionSpec = {
  name: "state",
  value: "dir",
  summary: "where conversations are kept (default: ~/.local/share/lichen/<agent id>)",
  offers: "folder",
};
export const model: OptionSpec = {
  name: "model",
  value: "provider/id",
  summary: "the model, before LICHEN_MODEL and the folder's own config",
  offers: "model",
  refuse: (value) =>
    value === "demo" || /^[^/\s]+\/\S+$/.test(value)
      ? undefined
      : `takes provider/id (see \`lichen models\`) or demo, not "${value}"`,
};
export const on: OptionSpec = {
  name: "on",
  value: "host",
  summary: "a machine elsewhere that this computer is paired with (`lichen pair <address>`)",
};
export const json: OptionSpec = { name: "json", summary: "answer in JSON, for programs" };
export const listening: readonly OptionSpec[] = [
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
  {
    name: "public-url",
    value: "url",
    summary: "the address at which others reach it, where something stands in front",
    refuse: (value) => {
      const { protocol, username = "", password = "" } = URL.parse(value) ?? {};
      const isWeb = protocol === "http:" || protocol === "https:";
      return isWeb && username === "" && password === ""
        ? undefined
        : `takes an http or https address, not "${value}"`;
    },
  },
  {
    name: "allow-host",
    value: "name",
    summary:
      "a further name under which requests may come, `name` or `name:port`; may be given often",
    refuse: (value) =>
      !/[\s/@?#]/.test(value) && URL.parse(`http://${value}`)
        ? undefined
        : `takes a host's name, such as box.example or box.example:8443, not "${value}"`,
  },
  state,
  model,
  { name: "json", summary: 'print {"url","token"} as the first line once it listens' },
];
