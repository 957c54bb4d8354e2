// The foot of the screen: where one is, how it stands, what it has cost. On a narrow screen the least important goes first.

import type { OfferedCapabilities, SessionInfo, Usage } from "@lichen/wire";
import { visibleWidth } from "@earendil-works/pi-tui";
import { lentTold } from "../../session-line.ts";
import { moneyInWords, tokensInWords } from "./amounts.ts";
import { cleanLine, row } from "./lines.ts";
import type { Style, Theme } from "./theme.ts";

export interface Footer {
  readonly agent: string;
  /** The session's title, or its id. */
  readonly session: string;
  readonly model?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly state: SessionInfo["state"];
  /** What the model may call of the agent's capabilities, and how. */
  readonly capabilities?: OfferedCapabilities | undefined;
  /** Of the whole session, with its cost where that is known. */
  readonly usage: Usage;
  /** Tokens in the model's context, of as many as it takes. */
  readonly contextUsed?: { readonly tokens: number; readonly window: number } | undefined;
  /** Keys and what they do now, most important first. */
  readonly hints: readonly string[];
}

interface Part {
  readonly text: string;
  readonly style: Style;
  /** The highest goes first. */
  readonly rank: number;
}

const states: Readonly<Record<SessionInfo["state"], string>> = {
  idle: "ready",
  queued: "queued",
  running: "working",
  waiting: "waits for you",
};

/** One or two lines. */
export function footerLines(footer: Footer, theme: Theme, width: number): string[] {
  const { agent, session, model, reasoning, state, capabilities, usage, contextUsed, hints } =
    footer;
  const { dim } = theme;
  const stateStyle = { idle: dim, queued: dim, running: theme.accent, waiting: theme.warn }[state];
  const part = (text: string, rank: number, style: Style = dim): Part => ({ text, rank, style });
  const share = contextUsed && contextUsed.window > 0 ? contextUsed.tokens / contextUsed.window : 0;
  const first = [
    part(states[state], 0, stateStyle),
    part(cleanLine(agent, 80), 2, theme.accent),
    part(cleanLine(session, 200), 3),
    part(model === undefined ? "" : cleanLine(model, 80), 1),
    part(
      reasoning === undefined || reasoning === "off" ? "" : `thinks ${cleanLine(reasoning, 20)}`,
      4,
    ),
    part(capabilities === undefined ? "" : lentTold(capabilities), 5),
  ];
  const second = [
    part(
      contextUsed
        ? `context ${Math.round(share * 100)}% of ${tokensInWords(contextUsed.window)}`
        : "",
      1,
      share >= 0.8 ? theme.warn : dim,
    ),
    part(usage.cost === undefined ? "" : moneyInWords(usage.cost), 2),
    part(usageInWords(usage), 3),
    ...hints.map((hint, at) => part(cleanLine(hint, 60), at === 0 ? 0 : 3 + at)),
  ];
  return [joined(first, width), joined(second, width)].filter((line) => line !== "");
}

function usageInWords({ input, output, cacheRead, cacheWrite }: Usage): string {
  const read = input + cacheRead + cacheWrite;
  return read + output === 0 ? "" : `↑${tokensInWords(read)} ↓${tokensInWords(output)}`;
}

const separator = " · ";

/** The parts that fit, each whole; the last one that is left is cut. */
function joined(parts: readonly Part[], width: number): string {
  const left = parts.filter(({ text }) => text !== "");
  const widthOf = (some: readonly Part[]): number =>
    some.reduce((sum, { text }) => sum + visibleWidth(text), separator.length * (some.length - 1));
  while (left.length > 1 && widthOf(left) > width) {
    const least = Math.max(...left.map(({ rank }) => rank));
    left.splice(
      left.findLastIndex(({ rank }) => rank === least),
      1,
    );
  }
  return row(left.map(({ text, style }) => style(text)).join(separator), width);
}
