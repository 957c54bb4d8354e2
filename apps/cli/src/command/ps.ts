// `lichen ps`: the coding agents of this machine and the agents of folders that it serves, and how they stand.

import { homedir } from "node:os";
import type { Input } from "../command.ts";
import { type FolderTalk, folderTalks } from "../machine/folder-talks.ts";
import { type MachineSession, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import { ago, aligned } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  try {
    const [sessions, talks] = await Promise.all([machine.sessions(), folderTalks(machine)]);
    if (input.flag("json")) {
      terminal.answer(`${JSON.stringify([...sessions, ...talks])}\n`);
      return 0;
    }
    const nowMs = Date.now();
    for (const line of aligned([...sessions, ...talks].map((it) => rowOf(it, nowMs))))
      terminal.answer(`${line}\n`);
    for (const { name, missing } of sessions)
      if (missing !== undefined) terminal.say(`${name} cannot start: ${oneLine(missing, 500)}`);
    for (const { name, more } of talks)
      if (more > 0)
        terminal.say(
          `${name} has ${more === 1 ? "another conversation" : `${more} more conversations`}, where nothing goes on: \`${commandName()} sessions <its folder>\` lists them`,
        );
    if (sessions.length === 0 && talks.length === 0)
      terminal.say(
        `no sessions yet; \`${commandName()} new <name> [dir]${machine.place}\` makes one`,
      );
    if ([...sessions, ...talks].some(({ pending }) => pending > 0))
      terminal.say(`\`${commandName()} approve${machine.place}\` shows what waits for an answer`);
    return 0;
  } finally {
    await machine.close();
  }
}

function rowOf(it: MachineSession | FolderTalk, nowMs: number): string[] {
  return [
    it.name,
    it.harness,
    "missing" in it && it.missing !== undefined ? "missing" : it.state,
    shortened(it.dir),
    it.last_time === null ? "never" : ago(it.last_time, nowMs),
    it.pending > 0 ? `${it.pending} to answer` : "",
    oneLine(it.preview, 60),
  ];
}

/** With `~` for this user's home. */
function shortened(dir: string): string {
  const home = homedir();
  return oneLine(
    dir === home || dir.startsWith(`${home}/`) ? `~${dir.slice(home.length)}` : dir,
    60,
  );
}
