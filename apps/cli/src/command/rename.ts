// `lichen rename`: another name for a session of this machine.

import type { Input } from "../command.ts";
import { reachMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const { name } = await machine.get(input.argument("name") ?? "");
    const to = (input.argument("new") ?? "").trim();
    await machine.tell(`/v1/sessions/${name}/rename`, { body: { name: to } });
    terminal.answer(`${to}\n`);
    return 0;
  } finally {
    await machine.close();
  }
}
