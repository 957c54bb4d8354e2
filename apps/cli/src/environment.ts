// The environment of a command: what was exported, then the agent folder's .secrets/.env where that names more.

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { FolderFiles, hostsDir, textOf } from "@lichen/server/node";
import { Fault } from "@lichen/wire";

const maxBytes = 1_024 * 1_024;

/**
 * Adds the variables of `<dir>/.secrets/.env` to this process; those that exist already win. Answers the names whose value
 * here is the file's.
 */
export async function loadEnvironment(dir: string): Promise<string[]> {
  const fromFile: string[] = [];
  for (const [name, value] of Object.entries(parseEnv(await read(dir)))) {
    if (value === undefined) continue;
    process.env[name] ??= value;
    if (process.env[name] === value) fromFile.push(name);
  }
  return fromFile;
}

async function read(dir: string): Promise<string> {
  const path = join(dir, ".secrets", ".env");
  const folder = await realpath(dir).catch(() => dir);
  const found = await new FolderFiles([hostsDir()]).read(path, folder, maxBytes);
  if (found === undefined) return "";
  const problem = found.problem ?? (found.isCut ? "is larger than 1 MiB" : undefined);
  if (problem !== undefined)
    throw new Fault(
      "invalid",
      `${path} ${problem}: it must be a regular file in the agent's folder that you may read.`,
    );
  return found.problem === undefined ? textOf(found) : "";
}
