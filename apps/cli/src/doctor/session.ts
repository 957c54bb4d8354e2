// What a person has to know of one session of a machine: that it cannot start, waits for an answer, or may be stuck.

import type { MachineSession } from "../machine/reach-machine.ts";
import { commandName } from "../typed.ts";
import { type Check, note } from "./check.ts";

/** A session that works and says nothing for this long may be stuck. */
const quietMs = 15 * 60_000;

/** What waits in it for a person. */
export function checkWaiting(
  { name, pending }: Pick<MachineSession, "name" | "pending">,
  place: string,
): Check[] {
  if (pending === 0) return [];
  return [
    note(
      `session ${name}`,
      `it waits for ${pending === 1 ? "an answer" : `${pending} answers`}`,
      `\`${commandName()} approve${place}\``,
    ),
  ];
}

/** What is to be known of a coding agent's session at a time. */
export function checkSession(it: MachineSession, place: string, nowMs: number): Check[] {
  const name = `session ${it.name}`;
  const found: Check[] = [];
  if (it.missing !== undefined) found.push(note(name, "it cannot start", it.missing));
  found.push(...checkWaiting(it, place));
  const quiet = nowMs - Date.parse(it.last_time);
  if (it.state === "working" && quiet > quietMs)
    found.push(
      note(
        name,
        `it has worked for ${Math.floor(quiet / 60_000)} minutes without a word`,
        `look with \`${commandName()} log ${it.name}${place}\`; \`${commandName()} restart ${it.name}${place}\` ends the turn in hand`,
      ),
    );
  return found;
}
