// `lichen new`: a session of a coding agent, made on the machine that runs.

import { isAbsolute, resolve } from "node:path";
import { Fault, MachineHarnesses, MachineSession } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const command = input.rest;
  const named = input.value("harness");
  if (command.length > 0 && (named === "claude" || named === "pi"))
    throw new UsageError(
      `new: ${named} has a program of its own: leave out what follows --`,
      "new",
    );
  if (command.length === 0 && named === "acp")
    throw new UsageError(
      "new: acp needs the agent's command: lichen new <name> <dir> --harness acp -- <command>",
      "new",
    );
  const dir = placeOf(input);
  const machine = await reachMachine(input, terminal);
  try {
    const harness = named ?? (command.length > 0 ? "acp" : await firstFound(machine));
    const model = input.value("model");
    const made = await machine.ask("/v1/sessions", MachineSession, {
      method: "POST",
      body: {
        name: input.argument("name"),
        dir,
        harness,
        ...(command.length > 0
          ? { command: machine.isElsewhere ? command : commandFrom(command) }
          : {}),
        ...(model === undefined ? {} : { model }),
        ...(input.flag("auto-approve") ? { auto_approve: true } : {}),
        ...(input.flag("keep-running") ? { keep_running: true } : {}),
      },
    });
    if (input.flag("json")) terminal.answer(`${JSON.stringify(made)}\n`);
    else {
      terminal.answer(`${made.name}\n`);
      terminal.say(
        `${made.harness} in ${made.dir}. Talk to it:\n  ${commandName()} send ${made.name} "…" --wait${machine.place}\n  ${commandName()} attach ${made.name}${machine.place}`,
      );
    }
    return 0;
  } finally {
    await machine.close();
  }
}

/** Relative to where the command is typed; what begins with `~` is for the machine to read. */
function placeOf(input: Input): string {
  const dir = input.argument("dir") ?? ".";
  if (dir.startsWith("~") || isAbsolute(dir)) return dir;
  if (input.value("on") === undefined) return resolve(dir);
  throw new UsageError(
    "new: with --on the directory is one of that machine: say all of it, such as ~/site",
    "new",
  );
}

/** A program that is named by a relative path lies where the command is typed. */
function commandFrom([program = "", ...args]: readonly string[]): string[] {
  return [program.includes("/") ? resolve(program) : program, ...args];
}

async function firstFound(machine: ReachedMachine): Promise<string> {
  const { harnesses, missing = [] } = await machine.ask("/v1/harnesses", MachineHarnesses);
  const found = harnesses.find(({ takes_command }) => takes_command !== true);
  if (found) return found.name;
  throw new Fault(
    "unavailable",
    `${missing.map((it) => it.missing).join(" ")} Any other agent of the Agent Client Protocol works too: --harness acp -- <its command>.`,
    { retryable: false },
  );
}
