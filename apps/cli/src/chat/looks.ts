// Which colours the screen has: what was asked for, else what the terminal says of itself.

import { getTerminalColorMode, type TUI } from "@earendil-works/pi-tui";
import { type ColorDepth, type Theme, type ThemeName, themeOf } from "./show/theme.ts";

/** How long the terminal may take to say what its background is; screens over a slow line take their time. */
const patienceMs = 1_000;

/** The theme to begin with, before the terminal has spoken. */
export function firstTheme(asked: ThemeName | undefined, env: NodeJS.ProcessEnv): Theme {
  return themeOf(asked ?? fromColorFgBg(env["COLORFGBG"]) ?? "dark", depthOf(env));
}

export function depthOf(env: NodeJS.ProcessEnv): ColorDepth {
  const none = env["NO_COLOR"];
  return none !== undefined && none !== "" ? "none" : getTerminalColorMode();
}

/** Light or dark, as the terminal's background is; undefined where it does not say. */
export async function askTerminal(tui: TUI): Promise<ThemeName | undefined> {
  const { background } = await tui.queryTerminalColors({ timeoutMs: patienceMs });
  if (background === undefined) return undefined;
  const { r, g, b } = background;
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "light" : "dark";
}

/** `15;0` and the like, which some terminals set: the last number is the background. */
function fromColorFgBg(value: string | undefined): ThemeName | undefined {
  const background = /;(\d+)$/.exec(value ?? "")?.[1];
  if (background === undefined) return undefined;
  return background === "7" || Number(background) > 8 ? "light" : "dark";
}
