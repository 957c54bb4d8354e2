// `lichen capability change`: another name, label or description for one that is there.

import { type CapabilityChanges, type CapabilityInfo, Fault, type OwnerLabel } from "@lichen/wire";
import { labelsOf } from "../../capability/asked.ts";
import { capabilityCalled, refuseOfFolder, withAgent } from "../../capability/named.ts";
import { problemTold, tellIfNotFree } from "../../capability/told.ts";
import { type Input, UsageError } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  const labels = labelsOf(input);
  const unlabelled = input.values("unlabel");
  const namespace = input.value("name");
  const description = input.value("description");
  if (
    labels === undefined &&
    unlabelled.length === 0 &&
    namespace === undefined &&
    description === undefined
  )
    throw new UsageError(
      "capability change: say what: --name, --label, --unlabel or --description",
      "capability change",
    );
  return withAgent(input, terminal, async (agent) => {
    const before = await capabilityCalled(agent, input, terminal);
    refuseOfFolder(before, "change it in");
    const changes: CapabilityChanges = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(description === undefined ? {} : { description }),
      ...(labels === undefined && unlabelled.length === 0
        ? {}
        : { labels: relabelled(before, unlabelled, labels) }),
    };
    const info = await agent.capabilities.change(before.id, changes);
    if (input.flag("json")) terminal.answer(`${JSON.stringify(info)}\n`);
    else if (info.namespace !== before.namespace)
      terminal.say(
        `${oneLine(before.namespace, 64)} is called ${oneLine(info.namespace, 64)} from now on`,
      );
    else terminal.say(`${oneLine(info.namespace, 64)} is changed`);
    if (namespace !== undefined) tellIfNotFree(namespace, info, terminal);
    const problem = problemTold(info);
    if (problem !== "") terminal.say(problem);
    return 0;
  });
}

function relabelled(
  before: CapabilityInfo,
  unlabelled: readonly string[],
  labels: Readonly<Record<string, OwnerLabel>> = {},
): Record<string, OwnerLabel> {
  const missing = unlabelled.find((name) => !Object.hasOwn(before.labels, name));
  if (missing !== undefined)
    throw new Fault(
      "invalid",
      `${oneLine(before.namespace, 64)} has no label for "${oneLine(missing, 200)}". It has labels for: ` +
        `${oneLine(Object.keys(before.labels).join(", "), 1_000) || "nothing"}.`,
    );
  const kept = Object.entries(before.labels).filter(([name]) => !unlabelled.includes(name));
  return { ...Object.fromEntries(kept), ...labels };
}
