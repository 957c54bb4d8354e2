// `lichen rm`: a session of this machine removed, once a person said so.

import { askedYes } from "../ask-yes.ts";
import type { Input } from "../command.ts";
import { type MachineSession, reachMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const session = await machine.get(input.argument("name") ?? "");
    const { name } = session;
    const isMeant = input.flag("yes") || (await askedYes(question(session), terminal));
    if (isMeant === undefined) return 130;
    if (!isMeant) {
      terminal.say(`${name} stays`);
      return 1;
    }
    await machine.tell(`/v1/sessions/${name}`, { method: "DELETE" });
    terminal.answer(`${name}\n`);
    return 0;
  } finally {
    await machine.close();
  }
}

function question({ name, state, dir }: MachineSession): string {
  const work = state === "idle" ? "" : " It is at work.";
  return `Remove session ${name} with its process and its log?${work} ${dir} stays as it is.`;
}
