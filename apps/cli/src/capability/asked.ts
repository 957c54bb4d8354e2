// What a line of `lichen capability add` asks to attach. Names of secrets are taken, secrets are not.

import { resolve } from "node:path";
import type { AttachRequest, JsonObject, OwnerLabel } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { looksLikeSecret, secretInUrl } from "./secret-like.ts";

const command = "capability add";
const instead =
  "put the secret into the agent's .secrets/.env, such as MY_TOKEN=…, and name that: --secret MY_TOKEN";

/** What belongs to which kind. */
const own: Readonly<Record<string, readonly string[]>> = {
  mcp: ["url", "env"],
  openapi: ["spec", "base-url", "safe-methods"],
  files: ["root", "write"],
  skills: [],
  ui: [],
};
const auth = ["secret", "header", "oauth", "scope", "client-id"];

export function requestOf(
  input: Input,
  source: string | undefined,
): Omit<AttachRequest, "requestId"> {
  const kind = input.argument("kind") ?? "";
  if (!Object.hasOwn(own, kind))
    refuse(`there is no kind "${kind}": there are ${Object.keys(own).join(", ")}`);
  refuseForeign(kind, input);
  const [namespace, description, grant] = ["name", "description", "grant"].map((name) =>
    input.value(name),
  );
  const labels = labelsOf(input);
  const needs = authOf(input);
  return {
    kind,
    config: configOf(kind, input, source),
    ...(namespace === undefined ? {} : { namespace }),
    ...(description === undefined ? {} : { description }),
    ...(grant === undefined ? {} : { grant }),
    ...(labels === undefined ? {} : { labels }),
    ...(needs === undefined ? {} : { auth: needs }),
    // Before anybody has signed in there is nobody to ask what it lends.
    ...(input.flag("keep") || input.flag("oauth") ? { keep: true } : {}),
  };
}

export function labelsOf(input: Input): Record<string, OwnerLabel> | undefined {
  const labels = input.values("label").map((given): [string, OwnerLabel] => {
    const at = given.lastIndexOf("=");
    const label = given.slice(at + 1);
    return [given.slice(0, at), label === "read" || label === "confirm" ? label : "write"];
  });
  return labels.length === 0 ? undefined : Object.fromEntries(labels);
}

function refuseForeign(kind: string, input: Input): void {
  for (const [other, names] of Object.entries(own))
    for (const name of names)
      if (other !== kind && (input.value(name) !== undefined || input.flag(name)))
        refuse(`--${name} is for ${other}, not for ${kind}`);
  if (kind !== "mcp" && input.rest.length > 0) refuse(`a program is for mcp, not for ${kind}`);
  const isRemote = kind === "openapi" || (kind === "mcp" && input.rest.length === 0);
  const given = auth.find((name) => input.value(name) !== undefined || input.flag(name));
  if (isRemote || given === undefined) return;
  refuse(
    kind === "mcp"
      ? `--${given} is for a server at an address; a program gets a secret by --env VARIABLE=SECRET_NAME`
      : `--${given} is for mcp and openapi, not for ${kind}`,
  );
}

function configOf(kind: string, input: Input, source: string | undefined): JsonObject {
  switch (kind) {
    case "mcp":
      return mcpOf(input);
    case "openapi": {
      const spec = input.value("spec") ?? refuse("openapi needs its document: --spec");
      const baseUrl = input.value("base-url");
      return {
        spec: /^https?:/i.test(spec) ? addressOf("spec", spec) : resolve(spec),
        ...(baseUrl === undefined ? {} : { baseUrl: addressOf("base-url", baseUrl) }),
        ...(input.flag("safe-methods") ? { safeMethods: "read" } : {}),
      };
    }
    case "files": {
      const root = input.value("root") ?? refuse("files needs its folder: --root");
      return { root: resolve(root), mode: input.flag("write") ? "write" : "read" };
    }
    case "skills":
      return { dir: resolve(source ?? refuse("skills needs its folder: add skills <source>")) };
    default:
      return {};
  }
}

function mcpOf(input: Input): JsonObject {
  const url = input.value("url");
  const [program, ...args] = input.rest;
  const env = input.values("env").map((given): [string, JsonObject] => {
    const [variable = "", secret = ""] = given.split("=");
    if (looksLikeSecret(secret))
      refuse(`--env names a secret, which this one looks like; ${instead}`);
    return [variable, { secret }];
  });
  if ((url === undefined) === (program === undefined))
    refuse(
      url === undefined
        ? "mcp needs an address (--url) or a program (-- npx -y some-server)"
        : "mcp has an address or a program, and not both",
    );
  if (url !== undefined) {
    if (env.length > 0) refuse("--env is for a program, not for an address");
    return { url: addressOf("url", url) };
  }
  if (args.some((word) => word.split("=").some(looksLikeSecret)))
    refuse(
      "a word of the program looks like a secret, and everybody on this computer may see those: put it into the " +
        "agent's .secrets/.env, such as MY_TOKEN=…, and hand it over with --env VARIABLE=MY_TOKEN",
    );
  return {
    command: program!,
    args,
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }),
  };
}

function addressOf(option: string, given: string): string {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    refuse(`--${option} takes an http or https address`);
  const secret = secretInUrl(url!);
  if (secret !== undefined)
    refuse(
      `--${option} ${secret}, and would be kept with the conversations: leave it out; ${instead}`,
    );
  return given;
}

function authOf(input: Input): JsonObject | undefined {
  const [secret, header, clientId] = ["secret", "header", "client-id"].map((name) =>
    input.value(name),
  );
  const scopes = input.values("scope");
  const isOAuth = input.flag("oauth");
  if (isOAuth && (secret !== undefined || header !== undefined))
    refuse("--oauth excludes --secret and --header");
  if (!isOAuth && (scopes.length > 0 || clientId !== undefined))
    refuse("--scope and --client-id belong to --oauth");
  if (isOAuth)
    return {
      type: "oauth",
      ...(scopes.length === 0 ? {} : { scopes: [...scopes] }),
      ...(clientId === undefined ? {} : { clientId }),
    };
  if (header !== undefined && !/^[A-Za-z0-9-]{1,100}$/.test(header))
    refuse(`--header takes the name of a header alone, such as X-Api-Key; ${instead}`);
  if (secret === undefined)
    return header === undefined ? undefined : refuse("--header needs --secret");
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(secret) || looksLikeSecret(secret))
    refuse(`--secret takes the name of a variable, and not the secret; ${instead}`);
  return {
    type: "header",
    secret,
    ...(header === undefined ? {} : { header, format: "{}" }),
  };
}

function refuse(message: string): never {
  throw new UsageError(`${command}: ${message}`, command);
}
