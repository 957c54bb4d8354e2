// The coding agents of this computer, and the machine that runs their sessions.

import { homedir } from "node:os";
import { basename } from "node:path";
import { Harnesses, ownHarnesses } from "@lichen/machine";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { type FolderTalk, folderTalks } from "../machine/folder-talks.ts";
import { keptFolders } from "../machine/kept-folders.ts";
import { findMachine } from "../machine/reach-machine.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";
import { type Check, note, ok } from "./check.ts";
import { checkSession, checkWaiting } from "./session.ts";

/** Which coding agents are here. None starts. */
export function checkHarnesses(): Check[] {
  const places = { env: process.env, home: homedir() };
  const looked = new Harnesses(ownHarnesses(), places)
    .look()
    .filter(({ harness }) => !harness.takesCommand);
  const isNone = looked.every(({ found }) => found.missing !== undefined);
  return [
    ...looked.map(({ harness: { name, title }, found }) => {
      if (found.missing === undefined)
        return ok(name, `${title} is here (${found.command.join(" ")})`);
      const [what = "", ...how] = found.missing.split(": ");
      return note(name, what, how.join(": "));
    }),
    ...(isNone
      ? [
          note(
            "agents",
            "no coding agent is here",
            `install one of them, or name another of the Agent Client Protocol: \`${commandName()} new <name> <dir> --harness acp -- <its command>\``,
          ),
        ]
      : []),
  ];
}

/** Whether the machine runs, and which of its sessions need a person. */
export async function checkMachine(input: Input, terminal: Terminal): Promise<Check[]> {
  try {
    const machine = await findMachine(input, terminal);
    if (!machine)
      return [note("machine", "none runs on this computer", `\`${commandName()} up\` starts it`)];
    try {
      const [sessions, talks] = await Promise.all([machine.sessions(), folderTalks(machine)]);
      const running = sessions.filter((it) => it.running).length;
      return [
        ok("machine", `it runs (sessions: ${sessions.length}, with a process: ${running})`),
        ...sessions.flatMap((it) => checkSession(it, machine.place, Date.now())),
        ...talks.flatMap((it) => checkWaiting(it, machine.place)),
        ...checkFolders(machine.stateDir, talks),
      ];
    } finally {
      await machine.close();
    }
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return [note("machine", "it runs and cannot be asked", error.message)];
  }
}

/** Folders' agents that the machine is to serve and does not. */
function checkFolders(stateDir: string, talks: readonly FolderTalk[]): Check[] {
  const served = new Set(talks.map(({ agent }) => agent));
  return keptFolders(stateDir)
    .filter(({ id }) => !served.has(id))
    .map(({ id, dir }) =>
      note(
        `agent ${basename(dir)}`,
        `this machine keeps it and does not serve it (${dir})`,
        `what \`${commandName()} up\` says at its start tells why; \`${commandName()} up --without ${id}\` lets it go`,
      ),
    );
}
