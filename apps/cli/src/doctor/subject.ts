// Whom a doctor looks at: an agent folder, where there is one, and its state, where it has one. Nothing is made for it.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { findAgent } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { loadEnvironment } from "../environment.ts";
import { locateAgent } from "../machine/kept-folders.ts";

type AgentPlace = ReturnType<typeof findAgent>;

export interface Subject {
  /** The agent's folder. */
  readonly agentDir: string | undefined;
  /** Where its tools work. */
  readonly cwd: string | undefined;
  /** Why there is no folder to look at; undefined where nobody asked for one. */
  readonly refusal: string | undefined;
  /** Why its variables are not known. */
  readonly unread: string | undefined;
  /** Undefined where the agent never ran, or there is no agent and no state was named. */
  readonly stateDir: string | undefined;
}

export async function subjectOf(input: Input): Promise<Subject> {
  const dir = input.argument("dir");
  let place: AgentPlace | undefined;
  let refusal: string | undefined;
  let unread: string | undefined;
  try {
    place = findAgent(dir ?? ".", process.env["LICHEN_AGENT"]);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    const isAsked = dir !== undefined || (process.env["LICHEN_AGENT"] ?? "") !== "";
    refusal = isAsked ? error.message : undefined;
  }
  try {
    await loadEnvironment(place?.dir ?? process.cwd());
  } catch (error) {
    if (!Fault.is(error)) throw error;
    unread = error.message;
  }
  const { dir: agentDir, cwd } = place ?? { dir: undefined, cwd: undefined };
  return { agentDir, cwd, refusal, unread, stateDir: stateOf(input, dir, agentDir) };
}

function stateOf(
  input: Input,
  dir: string | undefined,
  agentDir: string | undefined,
): string | undefined {
  const named = input.value("state") ?? process.env["LICHEN_STATE_DIR"];
  if (named !== undefined && named !== "") return resolve(named);
  // Without an id it never ran; looking for its state would give it one.
  if (agentDir === undefined || !existsSync(join(agentDir, ".lichen", "agent.json")))
    return undefined;
  return locateAgent(dir ?? ".", undefined).stateDir;
}
