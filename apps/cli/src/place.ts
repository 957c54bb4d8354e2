// Which agent a command means, and who serves it: the folder, its state directory, and the host that runs there.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@lichen/client";
import { type Connection, connectHost, findAgent, hostsDir } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "./command.ts";
import { loadEnvironment } from "./environment.ts";
import { locateAgent } from "./machine/kept-folders.ts";

export interface Place {
  /** The directory pointed at. */
  readonly dir: string;
  readonly agentDir: string;
  readonly agentId: string;
  readonly stateDir: string;
  /** This computer's machine keeps its conversations. */
  readonly isKept: boolean;
  /** Variables of this process that are what `.secrets/.env` said when it was read. */
  readonly fromFile: readonly string[];
}

/** The agent folder a command line names, with its variables loaded. Throws a `Fault` where there is none. */
export async function placeOf(input: Input): Promise<Place> {
  const dir = input.argument("dir") ?? ".";
  const { dir: agentDir } = findAgent(dir, process.env["LICHEN_AGENT"]);
  const fromFile = await loadEnvironment(agentDir);
  const { agentId, stateDir, isKept } = locateAgent(dir, input.value("state"));
  return { dir, agentDir, agentId, stateDir, isKept, fromFile };
}

const codingAgents: ReadonlySet<string> = new Set(["claude", "pi", "acp"]);

/** Whether it is the agent of a folder: sessions of a machine are agents too, which are called by their names. */
export function isOfFolder({ engine }: { readonly engine: string }): boolean {
  return !codingAgents.has(engine);
}

/** An agent in a running host. */
export interface Reached {
  readonly agent: string;
  /** Of a host elsewhere, what stands for it here. */
  readonly stateDir: string;
  /** How a host is found that is not on this computer. */
  readonly reach?: () => Promise<Connection>;
}

/**
 * The one host of this user that runs, for a command that stands in no agent folder. Undefined where there is none;
 * several are a `Fault`.
 */
export async function onlyHost(input: Input): Promise<Reached | undefined> {
  const found: Reached[] = [];
  for (const stateDir of await stateDirs(input)) {
    const connection = await connectHost(stateDir);
    if (connection.found !== "host") continue;
    const agents = await createClient(connection).agents();
    found.push(...agents.filter(isOfFolder).map(({ agent }) => ({ agent, stateDir })));
  }
  if (found.length > 1) {
    throw new Fault(
      "invalid",
      `Several agents run: ${found.map(({ agent }) => agent).join(", ")}. Name the folder of the one you mean.`,
    );
  }
  return found[0];
}

async function stateDirs(input: Input): Promise<string[]> {
  const named = input.value("state") ?? process.env["LICHEN_STATE_DIR"];
  if (named !== undefined && named !== "") return [named];
  const names = await readdir(hostsDir()).catch(() => []);
  return names.map((name) => join(hostsDir(), name));
}
