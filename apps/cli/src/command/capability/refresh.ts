// `lichen capability refresh`: asks a capability's server again what it lends.

import { capabilityCalled, withAgent } from "../../capability/named.ts";
import { operationsTold, problemTold, toldIfSlow } from "../../capability/told.ts";
import type { Input } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  return withAgent(input, terminal, async (agent) => {
    const { id } = await capabilityCalled(agent, input, terminal);
    const info = await toldIfSlow(agent.capabilities.refresh(id), terminal);
    const problem = problemTold(info);
    if (input.flag("json")) terminal.answer(`${JSON.stringify(info)}\n`);
    else {
      const name = oneLine(info.namespace, 64);
      terminal.say(
        info.state === "active"
          ? `${name} lends ${operationsTold(info.operations)}`
          : `${name} lends nothing yet`,
      );
      if (problem !== "") terminal.say(problem);
    }
    return info.state === "active" ? 0 : 1;
  });
}
