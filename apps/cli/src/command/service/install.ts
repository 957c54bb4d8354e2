// `lichen service install`: the machine started with its user from now on.

import { resolve } from "node:path";
import { findAgent } from "@lichen/server/node";
import type { Input } from "../../command.ts";
import { installService, lineOf, serviceHere } from "../../service/service.ts";
import type { Terminal } from "../../terminal.ts";
import { commandName } from "../../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const service = serviceHere();
  const args = ["state", "port", "bind", "public-url", "allow-host"].flatMap((name) => {
    const last = input.value(name);
    const values = name === "allow-host" ? input.values(name) : last === undefined ? [] : [last];
    return values.flatMap((value) => [`--${name}`, name === "state" ? resolve(value) : value]);
  });
  // What is refused here would be refused at every start.
  const folders = input
    .values("folder")
    .map((dir) => findAgent(dir, process.env["LICHEN_AGENT"]).dir);
  const isChanged = await installService(service, service.text(lineOf([...folders, ...args])));
  terminal.answer(`${service.path}\n`);
  terminal.say(
    `${isChanged ? "installed and started" : "it was installed already; started anew"}. See it: ${commandName()} service status`,
  );
  for (const line of await service.advice()) terminal.say(line);
  return 0;
}
