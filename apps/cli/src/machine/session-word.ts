// A session that a command line names by one word: one of this computer's machine, or of an agent folder.
//
//   UP6  The machine's comes first; where an agent of this folder has one of that name too, neither is meant until the
//        person says which.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { findAgent } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { onlyHost } from "../place.ts";
import { oneLine } from "../printable.ts";
import { reachAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";
import { locateAgent } from "./kept-folders.ts";
import { machineDirOf } from "./machine-dir.ts";
import { type Conversation, findConversation, getConversation } from "./conversation.ts";
import { findMachine, type ReachedMachine, reachMachine } from "./reach-machine.ts";

export interface Meant extends Conversation {
  readonly machine: ReachedMachine;
}

/** The machine's conversation that is meant, its machine to be closed; undefined where another agent's is. */
export async function meantBy(
  word: string,
  command: string,
  input: Input,
  terminal: Terminal,
): Promise<Meant | undefined> {
  if (input.flag("machine") || input.value("on") !== undefined)
    return only(await reachMachine(input, terminal), word);
  if (input.argument("dir") !== undefined) return undefined;
  const machine = await findMachine(input, terminal);
  if (!machine) {
    if (await hasAgent(input)) return undefined;
    // Somebody who has a machine means it, also while it is down.
    if (existsSync(join(machineDirOf(input), "host.db"))) await reachMachine(input, terminal);
    return undefined;
  }
  try {
    const conversation = await findConversation(machine, word);
    if (conversation) {
      await refuseBoth(word, command, machine, input, terminal);
      return { machine, ...conversation };
    }
    if (!(await hasAgent(input))) throw machine.unknown(word);
  } catch (error) {
    await machine.close();
    throw error;
  }
  await machine.close();
  return undefined;
}

async function only(machine: ReachedMachine, word: string): Promise<Meant> {
  try {
    return { machine, ...(await getConversation(machine, word)) };
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** Whether the line can mean an agent folder's: here, or in the one host that runs. */
export async function hasAgent(input: Input): Promise<boolean> {
  return agentHere(input) !== undefined || (await onlyHost(input).catch(() => true)) !== undefined;
}

function agentHere(input: Input): string | undefined {
  try {
    return findAgent(input.argument("dir") ?? ".", process.env["LICHEN_AGENT"]).dir;
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return undefined;
  }
}

async function refuseBoth(
  word: string,
  command: string,
  machine: ReachedMachine,
  input: Input,
  terminal: Terminal,
): Promise<void> {
  const dir = agentHere(input);
  // An agent without an id never ran, and looking would give it one.
  if (dir === undefined || !existsSync(join(dir, ".lichen", "agent.json"))) return;
  const { stateDir } = locateAgent(dir, input.value("state"));
  if (stateDir === machine.stateDir || !existsSync(join(stateDir, "host.db"))) return;
  const reached = await reachAgent(input, terminal, { atRest: true });
  try {
    await reached.agent.session(word).read({ limit: 1 });
  } catch (error) {
    if (Fault.is(error) && error.code === "unknown_session") return;
    throw error;
  } finally {
    await reached.close();
  }
  const name = quoted(word);
  throw new Fault(
    "invalid",
    `Two sessions are called ${oneLine(word, 100)}: one of this machine, one of the agent in this folder. Say which: ` +
      `\`${commandName()} ${command} ${name} … --machine\` is the machine's, \`${commandName()} ${command} ${name} … .\` (with the ` +
      "folder) the agent's.",
  );
}
