// All sessions of an agent, however many, the latest active one first.

import type { Agent } from "@lichen/client";
import type { SessionInfo } from "@lichen/wire";

const pageLimit = 200;

export async function allSessions(agent: Agent): Promise<SessionInfo[]> {
  // One that has something new while this reads comes twice, or is what it was when it was read.
  const found = new Map<string, SessionInfo>();
  for (let before: string | undefined; ;) {
    const page = await agent.sessions({
      limit: pageLimit,
      ...(before === undefined ? {} : { before }),
    });
    for (const info of page.sessions) found.set(info.session, info);
    if (page.next === undefined) return [...found.values()];
    before = page.next;
  }
}
