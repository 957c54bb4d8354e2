// The way of a chat to an agent of a host at an address.

import { Fault } from "@lichen/wire";
import { reachUrl } from "../reach-url.ts";
import type { ChatPlace } from "./app.ts";
import { chatsDir } from "./reach-folder.ts";

/** `named` is an agent's id or its name; the only agent where it is left out. */
export async function reachAttached(
  url: string,
  token: string,
  named: string | undefined,
): Promise<ChatPlace> {
  const reached = await reachUrl(url, token);
  const { client, agents } = reached;
  const meant = agents.filter(
    ({ agent, name }) => named === undefined || agent === named || name === named,
  );
  const [first] = meant;
  if (first === undefined || meant.length > 1) {
    await reached.close();
    const list = agents.map(({ agent, name }) => (agent === name ? agent : `${name} (${agent})`));
    throw new Fault(
      "unknown_agent",
      first === undefined
        ? `The host at ${url} has no agent ${named ?? ""}. It has: ${list.join(", ") || "none"}.`
        : `The host at ${url} has several agents: ${list.join(", ")}. Name one behind the address.`,
    );
  }
  // Several hosts may stand behind one origin, each below a path of its own.
  const { origin, pathname } = new URL(url);
  const key = `${first.agent}\n${origin}${pathname.replace(/\/+$/, "")}`;
  return {
    client,
    agent: client.agent(first.agent),
    isShared: true,
    key,
    keepIn: chatsDir(),
    close: () => reached.close(),
  };
}
