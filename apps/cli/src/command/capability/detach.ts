// `lichen capability detach`: takes one away from an agent.

import { Fault } from "@lichen/wire";
import { capabilityCalled, withAgent } from "../../capability/named.ts";
import type { Input } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  return withAgent(input, terminal, async (agent) => {
    const { id, namespace, file } = await capabilityCalled(agent, input, terminal);
    if (file !== undefined)
      throw new Fault(
        "invalid",
        `${namespace} belongs to the agent's folder: take it out of ${oneLine(file, 300)}.`,
      );
    await agent.capabilities.detach(id);
    terminal.say(`${oneLine(namespace, 64)} is taken away; nothing of it is called any more`);
    return 0;
  });
}
