// The environment of a command: what was exported, then the agent folder's .secrets/.env where that names more.

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { FolderFiles, hostsDir, textOf } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { modelNamed } from "./model-name.ts";

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

/** How one of several agents of this process reads variables. */
export interface AgentEnvironment {
  readonly env: (name: string) => string | undefined;
  /** Without what stands in the file, which is asked of the file. */
  readonly secretEnv: (name: string) => string | undefined;
  /** Names of the file that stand for another agent's value in this process, which is what code of tools reads. */
  readonly hidden: readonly string[];
}

/** The environments of several agents in one process: what was exported wins, then each has its own file's. */
export class Environments {
  /** What was exported, without any agent's secrets. */
  readonly exported: Readonly<Record<string, string | undefined>> = { ...process.env };

  async of(dir: string): Promise<AgentEnvironment> {
    const file = new Map(Object.entries(parseEnv(await read(dir))));
    const own = [...file.keys()].filter((name) => this.exported[name] === undefined);
    for (const name of own) process.env[name] ??= file.get(name);
    const variable = (name: string, value: string | undefined) =>
      name === "LICHEN_MODEL" ? modelNamed(value) : value;
    return {
      env: (name) => variable(name, this.exported[name] ?? file.get(name)),
      secretEnv: (name) => variable(name, this.exported[name]),
      hidden: own.filter((name) => process.env[name] !== file.get(name)),
    };
  }
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
