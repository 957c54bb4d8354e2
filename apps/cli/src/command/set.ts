// `lichen set`: the settings of a session of this machine, and what is to change of them.

import { MachineSession } from "@lichen/wire";
import type { Input } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";

/** The switches, by their names here and in the machine API. */
const switches = [
  ["auto-approve", "auto_approve"],
  ["keep-running", "keep_running"],
  ["star", "starred"],
] as const;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const before = await machine.get(input.argument("name") ?? "");
    const patch = patchOf(input);
    const changes = Object.keys(patch).length > 0;
    const after = changes ? await change(machine, before, patch) : before;
    if (input.flag("json")) terminal.answer(`${JSON.stringify(after)}\n`);
    else
      for (const [name, value] of told(after, input.value("model")))
        if (!changes || input.value(name) !== undefined) terminal.answer(`${name}: ${value}\n`);
    if (input.value("auto-approve") === "on" && after.pending > 0)
      terminal.say(
        `a question still waits for you: ${commandName()} approve --session ${quoted(after.name)}${machine.place}`,
      );
    return 0;
  } finally {
    await machine.close();
  }
}

function change(
  machine: ReachedMachine,
  { name }: MachineSession,
  patch: Patch,
): Promise<MachineSession> {
  return machine.ask(`/v1/sessions/${name}`, MachineSession, { method: "PATCH", body: patch });
}

/** A model of null is the coding agent's own choice. */
type Patch = Readonly<Record<string, boolean | string | null>>;

function patchOf(input: Input): Patch {
  const model = input.value("model");
  return Object.fromEntries([
    ...switches.flatMap(([name, field]) => {
      const value = input.value(name);
      return value === undefined ? [] : [[field, value === "on"] as const];
    }),
    ...(model === undefined ? [] : [["model", model === "default" ? null : model] as const]),
  ]);
}

const own = "the coding agent's own choice";

/** What its newest event says of the model is that of the turn before. */
function told(session: MachineSession, model?: string): [name: string, value: string][] {
  return [
    ...switches.map(([name, field]): [string, string] => [name, session[field] ? "on" : "off"]),
    ["model", model === "default" ? own : oneLine(model ?? session.model, 256) || own],
  ];
}
