// `lichen service uninstall`: the machine is started by hand again. What it keeps stays.

import { Fault } from "@lichen/wire";
import type { Input } from "../../command.ts";
import { readService, removeService, serviceHere } from "../../service/service.ts";
import type { Terminal } from "../../terminal.ts";

export async function run(_input: Input, terminal: Terminal): Promise<number> {
  const service = serviceHere();
  if ((await readService(service.path)) === undefined) {
    terminal.say("no service is installed");
    return 0;
  }
  const refused = await refusalOf(() => service.stop());
  await removeService(service);
  await refusalOf(() => service.forget());
  terminal.answer(`${service.path}\n`);
  terminal.say(
    refused === undefined
      ? "stopped and removed; the machine's sessions stay as they are"
      : `removed, so that it is not started again; what runs of it now could not be stopped. ${refused.message}`,
  );
  return 0;
}

/** A manager that is out of reach keeps nobody from taking the service away. */
async function refusalOf(work: () => Promise<void>): Promise<Fault | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return error;
  }
}
