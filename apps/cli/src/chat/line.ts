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

/** Which session to show: what is said of it, if anything, is said once. */
export function chosenSession(command: string, input: Input): WhichSession {
  const session = input.value("session");
  const ways = [
    ...(session === undefined ? [] : ["--session"]),
    ...(input.flag("continue") ? ["--continue"] : []),
    ...(input.flag("resume") ? ["--resume"] : []),
  ];
  if (ways.length > 1)
    throw new UsageError(
      `${command}: ${ways.join(" and ")} say different things: leave all but one out`,
      command,
    );
  if (session === undefined)
    return input.flag("resume") ? "choose" : input.flag("continue") ? "last" : "new";
  const parsed = SessionId.safeParse(session);
  if (parsed.success) return { id: session };
  throw new UsageError(`${command}: --${parsed.error.issues[0]?.message}`, command);
}

export function themeIn(command: string, input: Input): ThemeName | undefined {
  const asked = input.value("theme");
  const name = asked ?? process.env["LICHEN_THEME"];
  if (name === undefined || name === "") return undefined;
  if (name === "dark" || name === "light") return name;
  throw new UsageError(
    `${command}: ${asked === undefined ? "LICHEN_THEME" : "--theme"} takes dark or light, not ${JSON.stringify(name)}`,
    command,
  );
}
