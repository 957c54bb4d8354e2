// `lichen capability list`: what an agent may call, and how each of it stands.

import type { CapabilityInfo } from "@lichen/wire";
import { withAgent } from "../../capability/named.ts";
import { authTold, operationsTold, problemTold } from "../../capability/told.ts";
import type { Input } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import { aligned } from "../../session-line.ts";
import type { Terminal } from "../../terminal.ts";
import { commandName, samePlace } from "../../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const { capabilities } = await withAgent(input, terminal, (agent) => agent.capabilities.list());
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(capabilities)}\n`);
    return 0;
  }
  for (const line of aligned(capabilities.map(rowOf), 300)) terminal.answer(`${line}\n`);
  if (capabilities.length === 0)
    terminal.say(
      `this agent may call nothing but its tools; \`${commandName()} help capability add\` says how to add something`,
    );
  for (const { namespace, auth } of capabilities)
    if (auth.type === "oauth" && (auth.state === "missing" || auth.state === "expired"))
      terminal.say(
        `${oneLine(namespace, 64)}: sign in with \`${commandName()} capability auth ${oneLine(namespace, 64)}${samePlace(input)}\``,
      );
  return 0;
}

function rowOf(info: CapabilityInfo): string[] {
  const { namespace, kind, state, operations } = info;
  return [
    oneLine(namespace, 64),
    oneLine(kind, 32),
    state,
    operationsTold(operations),
    authTold(info),
    problemTold(info) || (state === "requested" ? "its server has not answered yet" : ""),
  ];
}
