// `lichen capability change`: another name, label or description for one that is there.

import type { CapabilityChanges } from "@lichen/wire";
import { labelsOf } from "../../capability/asked.ts";
import { capabilityCalled, withAgent } from "../../capability/named.ts";
import { problemTold } from "../../capability/told.ts";
import { type Input, UsageError } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  const labels = labelsOf(input);
  const namespace = input.value("name");
  const description = input.value("description");
  if (labels === undefined && namespace === undefined && description === undefined)
    throw new UsageError(
      "capability change: say what: --name, --label or --description",
      "capability change",
    );
  return withAgent(input, terminal, async (agent) => {
    const before = await capabilityCalled(agent, input, terminal);
    const changes: CapabilityChanges = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(description === undefined ? {} : { description }),
      ...(labels === undefined ? {} : { labels: { ...before.labels, ...labels } }),
    };
    const info = await agent.capabilities.change(before.id, changes);
    if (input.flag("json")) terminal.answer(`${JSON.stringify(info)}\n`);
    else if (info.namespace !== before.namespace)
      terminal.say(
        `${oneLine(before.namespace, 64)} is called ${oneLine(info.namespace, 64)} from now on`,
      );
    else terminal.say(`${oneLine(info.namespace, 64)} is changed`);
    const problem = problemTold(info);
    if (problem !== "") terminal.say(problem);
    return 0;
  });
}
