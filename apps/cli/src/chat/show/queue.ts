// What waits: messages that are on their way to the host, and those in its queue.

import { behind, cleanLine, row } from "./lines.ts";
import type { Style, Theme } from "./theme.ts";

export interface QueuedLine {
  readonly text: string;
  /**
   * `queued` at the host; `keeping` (not on this disk yet), `sending` and `waiting` (for the connection) here; `returning`
   * is being taken back; `failed` was refused; `steer` joins what runs; `early` waits for the agent to be reached.
   */
  readonly state:
    | "early"
    | "queued"
    | "keeping"
    | "sending"
    | "waiting"
    | "returning"
    | "failed"
    | "steer";
  readonly reason?: string;
}

const maxEntries = 5;

export function queueLines(entries: readonly QueuedLine[], theme: Theme, width: number): string[] {
  const looks: Readonly<Record<QueuedLine["state"], readonly [string, string, Style]>> = {
    early: ["… ", "sent once the agent is reached", theme.dim],
    queued: ["○ ", "queued", theme.dim],
    keeping: ["· ", "being kept", theme.dim],
    sending: ["↑ ", "sending", theme.dim],
    waiting: ["… ", "waits for the connection", theme.warn],
    returning: ["← ", "being taken back", theme.dim],
    failed: ["✗ ", "not accepted", theme.error],
    steer: ["» ", "joins what runs", theme.dim],
  };
  const lines = entries.slice(0, maxEntries).flatMap(({ text, state, reason }) => {
    const [mark, words, style] = looks[state];
    const why = reason === undefined ? "" : ` (${cleanLine(reason, 200)})`;
    const said = `${words}${why}: ${cleanLine(text, 400) || "(no text)"}`;
    return behind(style(mark), [style(row(said, Math.max(1, width - 2)))], width);
  });
  const rest = entries.slice(maxEntries);
  if (rest.length === 0) return lines;
  const failed = rest.filter(({ state }) => state === "failed").length;
  const among = failed === 0 ? "" : ` (${failed} not accepted)`;
  return [...lines, theme.dim(row(`  and ${rest.length} more${among}`, width))];
}
