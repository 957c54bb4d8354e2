// `lichen chat`: the terminal screen on an agent folder's sessions. Paints first; what reaches the agent is loaded then.

import { runChat } from "../chat/app.ts";
import { chosenSession, mustBeScreen, themeIn } from "../chat/line.ts";
import type { Input } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted, samePlace } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  mustBeScreen("chat", terminal);
  return runChat(
    {
      session: chosenSession("chat", input),
      theme: themeIn("chat", input),
      reach: async (say) => {
        const { reachFolder } = await import("../chat/reach-folder.ts");
        return reachFolder(input, { ...terminal, say, show: say });
      },
      again: (id) => `${commandName()} chat${samePlace(input)} --session ${quoted(id)}`,
    },
    terminal,
  );
}
