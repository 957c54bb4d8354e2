// `lichen capability show`: one capability and all that it lends, as code sees it.

import type { Agent } from "@lichen/client";
import type { CapabilityInfo, OperationInfo } from "@lichen/wire";
import { capabilityCalled, withAgent } from "../../capability/named.ts";
import { operationsOf } from "../../capability/operations.ts";
import { authTold, labelTold, operationsTold, problemTold } from "../../capability/told.ts";
import { typesOf } from "../../capability/types.ts";
import type { Input } from "../../command.ts";
import { oneLine, printable } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  return withAgent(input, terminal, async (agent) => {
    const info = await capabilityCalled(agent, input, terminal);
    const operations = await allOf(agent, info.id);
    if (input.flag("json")) {
      terminal.answer(`${JSON.stringify({ ...info, operations })}\n`);
      return 0;
    }
    terminal.answer(headOf(info));
    for (const operation of operations) terminal.answer(`\n${operationTold(info, operation)}`);
    return 0;
  });
}

async function allOf(agent: Agent, id: string): Promise<OperationInfo[]> {
  const all: OperationInfo[] = [];
  for await (const operation of operationsOf(agent, id)) all.push(operation);
  return all;
}

function headOf(info: CapabilityInfo): string {
  const { namespace, id, kind, state, description = "", grant, file, config, operations } = info;
  const rows: [string, string][] = [
    ["name", oneLine(namespace, 64)],
    ["id", oneLine(id, 128)],
    ["kind", oneLine(kind, 32)],
    ["about", oneLine(description, 500)],
    ["state", `${state}, ${operationsTold(operations)}`],
    ["auth", authTold(info)],
    ["grant", oneLine(grant, 256)],
    ["from", file === undefined ? "" : oneLine(file, 300)],
    ["config", Object.keys(config).length === 0 ? "" : oneLine(JSON.stringify(config), 1_000)],
    ["problem", problemTold(info)],
  ];
  return rows
    .filter(([, told]) => told !== "")
    .map(([what, told]) => `${what.padEnd(8)} ${told}\n`)
    .join("");
}

function operationTold(info: CapabilityInfo, operation: OperationInfo): string {
  const { property, name, description } = operation;
  const own = name === property ? "" : ` (${oneLine(name, 200)})`;
  const about = printable(description).trim();
  const types = printable(typesOf(info, operation));
  const lines = [...(about === "" ? [] : about.split("\n")), ...types.split("\n")].map((line) =>
    `  ${line}`.trimEnd(),
  );
  return `${oneLine(property, 200)}${own}  ${labelTold(operation)}\n${lines.join("\n")}\n`;
}
