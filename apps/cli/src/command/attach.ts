// `lichen attach`: the terminal screen on a coding agent of this machine, or on a host at an address.

import { Fault } from "@lichen/wire";
import { runChat } from "../chat/app.ts";
import { chosenSession, mustBeScreen, themeIn } from "../chat/line.ts";
import { chatsDir } from "../chat/reach-folder.ts";
import { type Input, UsageError } from "../command.ts";
import { hostToken } from "../host-token.ts";
import { getConversation } from "../machine/conversation.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  mustBeScreen("attach", terminal);
  const url = input.argument("place") ?? "";
  if (!url.includes("://") && /^[\w.-]+(\/.+)?$/.test(url))
    return attachToMachine(url, input, terminal);
  if (!URL.canParse(url))
    throw new UsageError(
      `attach: "${oneLine(url, 100)}" is neither a session's name nor an address: \`${commandName()} ps\` lists the sessions, and an address is ` +
        "one such as http://127.0.0.1:7387",
      "attach",
    );
  const session = chosenSession("attach", input);
  const token = await hostToken(input, terminal);
  const agent = input.argument("agent");
  const place = `${quoted(url)}${agent === undefined ? "" : ` ${quoted(agent)}`}`;
  return runChat(
    {
      session,
      theme: themeIn("attach", input),
      reach: async () => {
        const { reachAttached } = await import("../chat/reach-attached.ts");
        return reachAttached(url, token, agent);
      },
      again: (id) => `${commandName()} attach ${place} --session ${quoted(id)}`,
    },
    terminal,
  );
}

/** A coding agent has one session, which is gone on with. */
async function attachToMachine(word: string, input: Input, terminal: Terminal): Promise<number> {
  const stray = ["session", "token-file"].find((name) => input.value(name) !== undefined);
  const flag = ["continue", "resume"].find((name) => input.flag(name));
  const refused = input.argument("agent") ?? ((stray ?? flag) ? `--${stray ?? flag}` : undefined);
  if (refused !== undefined)
    throw new UsageError(
      `attach: ${word} is a session of this machine: leave out ${refused}, which is for a host at an address`,
      "attach",
    );
  const theme = themeIn("attach", input);
  const machine = await reachMachine(input, terminal);
  try {
    const { name, reached, session, isOfFolder } = await getConversation(machine, word, {
      patienceMs: 0,
    });
    const { client, agent } = reached;
    return await runChat(
      {
        session: { id: session.id },
        ...(isOfFolder ? {} : { only: { renew: () => renewed(machine, agent.agent) } }),
        theme,
        reach: async () => {
          const key = `${agent.agent}\n${machine.stateDir}`;
          return {
            ...{ client, agent, key, keepIn: chatsDir() },
            ...{ isShared: true, close: async () => {} },
          };
        },
        again: (id) => {
          const again = id === session.id || !isOfFolder ? name : `${agent.agent}/${id}`;
          return `${commandName()} attach ${quoted(again)}${machine.place}`;
        },
      },
      terminal,
    );
  } finally {
    await machine.close();
  }
}

/** By the agent's id: the session may have another name by now. */
async function renewed(machine: ReachedMachine, id: string): Promise<void> {
  const { name } = (await machine.sessions()).find((it) => it.id === id) ?? {};
  if (name === undefined) throw new Fault("closed", "This session was removed.");
  await machine.tell(`/v1/sessions/${name}/new`);
}
