// `lichen restart`: a session's process ended and started again on the same conversation.

import type { Input } from "../command.ts";
import { reachMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const { name } = await machine.get(input.argument("name") ?? "");
    await machine.tell(`/v1/sessions/${name}/restart`);
    terminal.say(`${name} was restarted on its conversation`);
    return 0;
  } finally {
    await machine.close();
  }
}
