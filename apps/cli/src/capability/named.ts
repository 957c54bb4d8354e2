// The capability that a command line means: by what it is called in code, by its id, or by what it was called before.

import type { Agent } from "@lichen/client";
import { nearest } from "@lichen/server/nearest";
import { type CapabilityInfo, Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { oneLine } from "../printable.ts";
import { reachAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, samePlace } from "../typed.ts";

/** Reaches the agent of the line, where nothing runs that is not running already, and leaves it when the work is done. */
export async function withAgent<T>(
  input: Input,
  terminal: Terminal,
  work: (agent: Agent) => Promise<T>,
): Promise<T> {
  const reached = await reachAgent(input, terminal, { atRest: true, declared: true });
  try {
    return await work(reached.agent);
  } catch (error) {
    if (Fault.is(error) && error.code === "unknown_route")
      throw new Fault(
        "unavailable",
        "The host that runs is of an older version, which knows no capabilities: start it again.",
        { cause: error, retryable: false },
      );
    throw error;
  } finally {
    await reached.close();
  }
}

export async function capabilityCalled(
  agent: Agent,
  input: Input,
  terminal: Terminal,
): Promise<CapabilityInfo> {
  const name = input.argument("name") ?? "";
  const { capabilities, renamed } = await agent.capabilities.list();
  const found =
    capabilities.find(({ namespace }) => namespace === name) ??
    capabilities.find(({ id }) => id === name);
  if (found !== undefined) return found;
  const now = Object.hasOwn(renamed, name) ? renamed[name] : undefined;
  const moved = capabilities.find(({ namespace }) => namespace === now);
  if (moved !== undefined) {
    terminal.say(`${oneLine(name, 64)} is called ${oneLine(moved.namespace, 64)} by now`);
    return moved;
  }
  const meant = nearest(
    name,
    capabilities.map(({ namespace }) => namespace),
  );
  throw new Fault(
    "unknown_capability",
    `This agent has no capability "${oneLine(name, 128)}"${meant === undefined ? "." : `; did you mean ${meant}?`} ` +
      `\`${commandName()} capability list${samePlace(input)}\` names them.`,
  );
}

/** What a file of the agent's folder declares is changed there, and would not stay as it is. */
export function refuseOfFolder({ namespace, file }: CapabilityInfo, instead: string): void {
  if (file === undefined) return;
  const name = oneLine(namespace, 64);
  throw new Fault(
    "invalid",
    `${name} belongs to the agent's folder: ${instead} ${oneLine(file, 300)}.`,
  );
}
