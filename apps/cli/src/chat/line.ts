// What `chat` and `attach` read of their command line alike.

import { Fault, SessionId } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import type { WhichSession } from "./app.ts";
import type { ThemeName } from "./show/theme.ts";

/** A chat needs a terminal on both sides. */
export function mustBeScreen(command: string, terminal: Terminal): void {
  if (terminal.showsLive && process.stdin.isTTY) return;
  throw new Fault(
    "invalid",
    `\`lichen ${command}\` needs a terminal to show itself on. Without one, use \`lichen send\`, \`lichen watch\` and \`lichen approve\`.`,
  );
}

/** Which session to show. */
export function chosenSession(command: string, input: Input): WhichSession {
  const session = input.value("session");
  if (session === undefined)
    return input.flag("resume") ? "choose" : input.flag("continue") ? "last" : "new";
  const parsed = SessionId.safeParse(session);
  if (parsed.success) return { id: session };
  throw new UsageError(`${command}: --${parsed.error.issues[0]?.message}`, command);
}

export function themeIn(input: Input): ThemeName | undefined {
  const name = input.value("theme") ?? process.env["LICHEN_THEME"];
  return name === "dark" || name === "light" ? name : undefined;
}
