// The way of a chat to the agent of a folder, wherever it is served, and where chats keep what is theirs.

import { join } from "node:path";
import { hostsDir } from "@lichen/server/node";
import type { Input } from "../command.ts";
import { modelNamed } from "../model-name.ts";
import { reachAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import type { ChatPlace } from "./app.ts";

/** Below the directory of the hosts, which agents cannot reach. */
export function chatsDir(): string {
  return join(hostsDir(), "chat");
}

export async function reachFolder(input: Input, terminal: Terminal): Promise<ChatPlace> {
  const reached = await reachAgent(input, terminal, { patienceMs: 0 });
  const { client, agent, isShared } = reached;
  return {
    client,
    isShared,
    agent,
    key: agent.agent,
    model: modelNamed(input.value("model")),
    keepIn: chatsDir(),
    close: () => reached.close(),
  };
}
