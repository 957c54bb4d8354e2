// `lichen capability detach`: takes one away from an agent.

import { capabilityCalled, refuseOfFolder, withAgent } from "../../capability/named.ts";
import type { Input } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  return withAgent(input, terminal, async (agent) => {
    const info = await capabilityCalled(agent, input, terminal);
    refuseOfFolder(info, "take it out of");
    const { id, namespace } = info;
    await agent.capabilities.detach(id);
    terminal.say(`${oneLine(namespace, 64)} is taken away; nothing of it is called any more`);
    return 0;
  });
}
