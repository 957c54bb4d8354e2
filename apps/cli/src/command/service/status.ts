// `lichen service status`: whether the service is installed, how it stands, and whether the machine answers.

import { connectHost } from "@lichen/server/node";
import type { Input } from "../../command.ts";
import { machineDirOf } from "../../machine/machine-dir.ts";
import { readService, serviceHere } from "../../service/service.ts";
import type { Terminal } from "../../terminal.ts";
import { commandName } from "../../typed.ts";

/** Answers 0 where it is installed and the machine answers. */
export async function run(input: Input, terminal: Terminal): Promise<number> {
  const service = serviceHere();
  const isInstalled = (await readService(service.path)) !== undefined;
  const state = isInstalled ? await service.state() : "not installed";
  const connection = await connectHost(machineDirOf(input));
  const url = connection.found === "host" ? connection.url : undefined;
  if (input.flag("json"))
    terminal.answer(
      `${JSON.stringify({ installed: isInstalled, state, path: service.path, url: url ?? null })}\n`,
    );
  else {
    terminal.answer(
      isInstalled
        ? `service: ${state || "unknown"} (${service.path})\n`
        : "service: not installed\n",
    );
    terminal.answer(url === undefined ? "machine: none answers\n" : `machine: answers at ${url}\n`);
    if (!isInstalled) terminal.say(`\`${commandName()} service install\` installs it`);
    else if (url === undefined)
      terminal.say(
        "what it said last: journalctl --user -u lichen -n 50 (Linux), ~/Library/Logs/lichen.log (macOS)",
      );
  }
  return isInstalled && url !== undefined ? 0 : 1;
}
