// `lichen adopt`: the conversations of Claude Code and pi on this computer, and one of them continued as a session.

import { basename } from "node:path";
import {
  Fault,
  type MachineConversation,
  MachineConversationList,
  MachineSession,
} from "@lichen/wire";
import { askedYes } from "../ask-yes.ts";
import { type Input, UsageError } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import { ago, aligned } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

const mostListed = 200;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const id = input.argument("id");
  const stray = ["name", "stop-terminal", "yes"].find(
    (it) => input.flag(it) || input.value(it) !== undefined,
  );
  if (id === undefined && stray !== undefined)
    throw new UsageError(`adopt: --${stray} needs the <id> of a conversation`, "adopt");
  if (input.flag("yes") && !input.flag("stop-terminal"))
    throw new UsageError("adopt: --yes goes with --stop-terminal", "adopt");
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
    [
      it.adopted_by ? `is session ${oneLine(it.adopted_by, 64)}` : "",
      openIn(it) === "" ? "" : `in a terminal (${openIn(it)})`,
    ]
      .filter((part) => part !== "")
      .join(", "),
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
  if (input.flag("stop-terminal")) {
    const end = await stopTerminals(found?.terminals ?? [], machine, input, terminal);
    if (end !== undefined) return end;
    if (found?.adopted_by) {
      terminal.say(`session ${oneLine(found.adopted_by, 64)} goes on with it`);
      return 0;
    }
  }
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
    if (found && openIn(found) !== "" && !input.flag("stop-terminal"))
      terminal.say(
        `${found.harness ?? "claude"} runs in its directory in a terminal too (${openIn(found)}), and may have this conversation open: ` +
          `close it there, or end it from here, so that only one goes on with it:\n  ${commandName()} adopt ${found.id} --stop-terminal${machine.place}`,
      );
    terminal.say(
      `${made.harness} in ${made.dir}. Talk to it:\n  ${commandName()} send ${made.name} "…" --wait${machine.place}`,
    );
  }
  return 0;
}

/** The processes that may have it open; empty where none does. */
function openIn({ terminals = [] }: MachineConversation): string {
  const pids = terminals.map(({ pid }) => pid).join(", ");
  return pids === "" ? "" : `process ${pids}`;
}

/** Ends each that the person lets go. Answers an exit code where the command is over by that. */
async function stopTerminals(
  terminals: NonNullable<MachineConversation["terminals"]>,
  machine: ReachedMachine,
  input: Input,
  terminal: Terminal,
): Promise<number | undefined> {
  if (terminals.length === 0) terminal.say("no terminal has it open");
  for (const { pid, dir } of terminals) {
    const what = `process ${pid} in ${oneLine(dir, 100)}`;
    const isMeant =
      input.flag("yes") ||
      (await askedYes(`End the coding agent that runs in a terminal there (${what})?`, terminal));
    if (isMeant === undefined) return 130;
    if (!isMeant) {
      terminal.say(`${what} stays, and nothing was adopted`);
      return 1;
    }
    await machine.tell(`/v1/terminals/${pid}/stop`);
    terminal.say(`${what} was told to end`);
  }
  return undefined;
}

/** The folder's name, as a session can be called. */
function nameFor(dir: string): string {
  const name = basename(dir)
    .replaceAll(/[^a-zA-Z0-9._-]+/g, "-")
    .replace(/^[^a-zA-Z0-9]+/, "");
  return name.slice(0, 64) || "adopted";
}
