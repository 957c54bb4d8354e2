// `lichen attach`: the terminal screen on a host at an address, on this computer or another.

import { runChat } from "../chat/app.ts";
import { chosenSession, mustBeScreen, themeIn } from "../chat/line.ts";
import { type Input, UsageError } from "../command.ts";
import { hostToken } from "../host-token.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  mustBeScreen("attach", terminal);
  const url = input.argument("url") ?? "";
  if (!URL.canParse(url))
    throw new UsageError(
      `attach: "${url}" is no address: write one such as http://127.0.0.1:7387`,
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
