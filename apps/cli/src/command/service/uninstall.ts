// `lichen service uninstall`: the machine is started by hand again. What it keeps stays.

import type { Input } from "../../command.ts";
import { readService, removeService, serviceHere } from "../../service/service.ts";
import type { Terminal } from "../../terminal.ts";

export async function run(_input: Input, terminal: Terminal): Promise<number> {
  const service = serviceHere();
  if ((await readService(service.path)) === undefined) {
    terminal.say("no service is installed");
    return 0;
  }
  await service.stop();
  await removeService(service.path);
  await service.forget();
  terminal.answer(`${service.path}\n`);
  terminal.say("stopped and removed; the machine's sessions stay as they are");
  return 0;
}
