// `lichen rm`: a session of this machine removed, once a person said so.

import { onStopSignal } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { askYes } from "../ask-yes.ts";
import type { Input } from "../command.ts";
import { type MachineSession, reachMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const session = await machine.get(input.argument("name") ?? "");
    const { name } = session;
    const isMeant = input.flag("yes") || (await isConfirmed(session, terminal));
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

/** Undefined after Ctrl-C. */
async function isConfirmed(
  { name, state, dir }: MachineSession,
  terminal: Terminal,
): Promise<boolean | undefined> {
  if (!terminal.canAsk)
    throw new Fault("invalid", `Nobody can be asked here whether ${name} is to go: say --yes.`);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  const work = state === "idle" ? "" : " It is at work.";
  try {
    return await askYes(
      `Remove session ${name} with its process and its log?${work} ${dir} stays as it is.`,
      stop.signal,
    );
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  } finally {
    ignoreSignals();
  }
}
