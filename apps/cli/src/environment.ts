// The environment of a command: what was exported, then the agent folder's .secrets/.env where that names more.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "@lichen/wire";

/** Adds the variables of `<dir>/.secrets/.env` to this process; those that exist already win. Answers the names it added. */
export async function loadEnvironment(dir: string): Promise<string[]> {
  const path = join(dir, ".secrets", ".env");
  const added: string[] = [];
  for (const [name, value] of Object.entries(parseEnv(await read(path)))) {
    if (value === undefined || process.env[name] !== undefined) continue;
    process.env[name] = value;
    added.push(name);
  }
  return added;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return "";
    throw new Fault("invalid", `${path} cannot be read (${code}): check its permissions.`, {
      cause: error,
    });
  }
}
