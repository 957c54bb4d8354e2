// Secrets by name: from the variables of the host, or from `.secrets/.env` of the agent's folder. Read at every call and
// kept nowhere. A file that somebody else could read or put there is refused.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "@lichen/wire";
import type { SecretOf } from "../connection-auth.ts";

/** The host's variables, or the way to ask for one. */
export type Environment =
  | Readonly<Record<string, string | undefined>>
  | ((name: string) => string | undefined);

interface SecretsOptions {
  /** A variable of the host goes first. */
  readonly env: Environment;
  /** Of the agent. */
  readonly folder?: string | undefined;
}

const mostBytes = 65_536;
const where = ".secrets/.env";

/** Throws a `Fault` where the file must not be read; undefined where nobody has set the secret. */
export function createSecrets({ env, folder }: SecretsOptions): SecretOf {
  return async (name) => {
    const set = variableOf(env, name);
    if (set !== undefined && set !== "") return set;
    if (folder === undefined) return undefined;
    const text = await readPrivate(join(folder, ".secrets", ".env"));
    if (text === undefined) return undefined;
    const values = parseEnv(text);
    return Object.hasOwn(values, name) ? values[name] : undefined;
  };
}

function variableOf(env: Environment, name: string): string | undefined {
  if (typeof env === "function") return env(name);
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

async function readPrivate(path: string): Promise<string | undefined> {
  try {
    // Without O_NONBLOCK, opening a pipe waits for whoever writes into it.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using file = await open(path, flags);
    const { mode, size, uid } = await file.stat();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG)
      throw refusal("is no regular file: put one in its place");
    if (process.getuid && uid !== process.getuid())
      throw refusal("belongs to another user: make it your own, with mode 0600");
    if ((mode & 0o077) !== 0)
      throw refusal(`can be read by other users: run \`chmod 600 ${where}\` in the agent's folder`);
    if (size > mostBytes) throw refusal(`has more than ${mostBytes} bytes: shorten it`);
    return await file.readFile("utf8");
  } catch (error) {
    if (Fault.is(error)) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw refusal("is a link: put the file itself there");
    throw refusal(`cannot be read (${typeof code === "string" ? code : "unknown reason"})`);
  }
}

function refusal(what: string): Fault {
  return new Fault("unreadable", `${where} ${what}.`);
}
