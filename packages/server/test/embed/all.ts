// A stream read to its end.

import type { AgentEvent } from "@lichen/wire";

export async function all(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const seen: AgentEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}
