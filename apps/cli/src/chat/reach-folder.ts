// The way of a chat to the agent of a folder, wherever it is served, and where chats keep what is theirs.

import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isHeld } from "@lichen/runtime/node";
import { hostsDir } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { modelNamed } from "../model-name.ts";
import { reachAgent, type ReachedAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, samePlace } from "../typed.ts";
import type { ChatPlace } from "./app.ts";

/** Below the directory of the hosts, which agents cannot reach. */
export function chatsDir(): string {
  return join(hostsDir(), "chat");
}

export async function reachFolder(input: Input, terminal: Terminal): Promise<ChatPlace> {
  const reached = await reach(input, terminal);
  const { client, agent, isShared, stateDir } = reached;
  return {
    client,
    isShared,
    agent,
    key: await keyOf(agent.agent, stateDir),
    model: modelNamed(input.value("model")),
    keepIn: chatsDir(),
    close: () => reached.close(),
  };
}

async function reach(input: Input, terminal: Terminal): Promise<ReachedAgent> {
  try {
    return await reachAgent(input, terminal, { patienceMs: 0 });
  } catch (error) {
    if (!isHeld(error)) throw error;
    throw new Fault(
      "unavailable",
      `${error.message}. For several chats at once, end it and run \`${commandName()} start${samePlace(input)}\`: ` +
        "every chat then uses that host.",
    );
  }
}

/** An agent may be served from several state directories, each of them another host; one may have several paths. */
async function keyOf(agent: string, stateDir: string): Promise<string> {
  const path = await realpath(stateDir).catch(() => resolve(stateDir));
  return `${agent}\n${path}`;
}
