// `lichen adopt`: the conversations of Claude Code and pi on this computer, and one of them continued as a session.

import { basename } from "node:path";
import {
  Fault,
  type MachineConversation,
  MachineConversationList,
  MachineSession,
} from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import { ago, aligned } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

const mostListed = 200;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const id = input.argument("id");
  if (id === undefined && input.value("name") !== undefined)
    throw new UsageError("adopt: --name needs the <id> of a conversation", "adopt");
  const machine = await reachMachine(input, terminal);
  try {
    const limit = id === undefined ? Number(input.value("limit") ?? 30) : mostListed;
    const { conversations } = await machine.ask(
      `/v1/conversations?limit=${Math.min(limit, mostListed)}`,
      MachineConversationList,
    );
    if (id === undefined) return list(conversations, machine, input, terminal);
    return await adopt(id, conversations, machine, input, terminal);
  } finally {
    await machine.close();
  }
}

function list(
  conversations: readonly MachineConversation[],
  { place }: ReachedMachine,
  input: Input,
  terminal: Terminal,
): number {
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(conversations)}\n`);
    return 0;
  }
  const nowMs = Date.now();
  const rows = conversations.map((it) => [
    it.id,
    it.harness ?? "claude",
    oneLine(it.dir, 60),
    ago(it.modified, nowMs),
    it.adopted_by ? `is session ${oneLine(it.adopted_by, 64)}` : "",
    oneLine(it.last_user || it.last_assistant || "", 60),
  ]);
  for (const line of aligned(rows)) terminal.answer(`${line}\n`);
  if (rows.length === 0)
    terminal.say(
      "Claude Code and pi have no conversations on this computer that could be continued",
    );
  else terminal.say(`\`${commandName()} adopt <id>${place}\` continues one as a session`);
  return 0;
}

async function adopt(
  id: string,
  conversations: readonly MachineConversation[],
  machine: ReachedMachine,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  const meant = conversations.filter((it) => it.id.startsWith(id));
  const found = meant.find((it) => it.id === id) ?? (meant.length === 1 ? meant[0] : undefined);
  if (!found && meant.length > 1)
    throw new Fault(
      "invalid",
      `Several conversations begin with ${oneLine(id, 100)}: ${meant.map((it) => it.id).join(", ")}. Name one whole.`,
    );
  const harness = input.value("harness") ?? found?.harness;
  // One that is not listed may be there all the same: pi's are not.
  const made = await machine.ask("/v1/sessions", MachineSession, {
    method: "POST",
    body: {
      name: input.value("name") ?? nameFor(found?.dir ?? id),
      resume: found?.id ?? id,
      ...(harness === undefined ? {} : { harness }),
    },
  });
  if (input.flag("json")) terminal.answer(`${JSON.stringify(made)}\n`);
  else {
    terminal.answer(`${made.name}\n`);
    const held = found?.terminals ?? [];
    if (held.length > 0)
      terminal.say(
        `a terminal may still have it open (process ${held.map(({ pid }) => pid).join(", ")}): leave it there, so that only one goes on with it`,
      );
    terminal.say(
      `${made.harness} in ${made.dir}. Talk to it:\n  ${commandName()} send ${made.name} "…" --wait${machine.place}`,
    );
  }
  return 0;
}

/** The folder's name, as a session can be called. */
function nameFor(dir: string): string {
  const name = basename(dir)
    .replaceAll(/[^a-zA-Z0-9._-]+/g, "-")
    .replace(/^[^a-zA-Z0-9]+/, "");
  return name.slice(0, 64) || "adopted";
}
