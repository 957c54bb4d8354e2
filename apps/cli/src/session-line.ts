// A session on one line: its id, how it stands, what it waits for, what it is about, and when it last changed.

import type { OfferedCapabilities, SessionInfo } from "@lichen/wire";
import { operationsTold } from "./capability/told.ts";
import { oneLine } from "./printable.ts";

export interface SessionLine {
  readonly id: string;
  readonly state: string;
  /** What a person has to answer, and what is queued. */
  readonly waits: string;
  readonly about: string;
  /** What its newest run lent the model of the agent's capabilities, and how; empty where that is nothing. */
  readonly lent: string;
}

export function sessionLine(info: SessionInfo): SessionLine {
  const { session, state, approvals, pending, title, preview, capabilities } = info;
  const waits = [
    ...(approvals > 0 ? [`${approvals} to answer`] : []),
    ...(pending > 0 ? [`${pending} queued`] : []),
  ];
  return {
    id: oneLine(session, 256),
    state,
    waits: waits.join(", "),
    about: oneLine(title ?? preview ?? "", 60),
    lent: capabilities === undefined ? "" : lentTold(capabilities),
  };
}

/** How many operations the model has, and whether as tools of their own or for its programs. */
export function lentTold({ offered, operations }: OfferedCapabilities): string {
  return `${operationsTold(operations)} ${offered === "execute" ? "in programs" : "as tools"}`;
}

/** How long ago, in the largest unit that fits. `at` is RFC 3339; `nowMs` since the epoch. */
export function ago(at: string, nowMs: number): string {
  const minutes = Math.floor((nowMs - Date.parse(at)) / 60_000);
  if (!(minutes >= 1)) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / (24 * 60))} days ago`;
}

/** Rows of words under each other, without space at the ends of lines. */
export function aligned(rows: readonly (readonly string[])[], longest = 40): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.min(longest, Math.max(...rows.map((row) => row[column]?.length ?? 0))),
  );
  return rows.map((row) =>
    row
      .map((word, column) => word.padEnd(widths[column] ?? 0))
      .filter((_, column) => widths[column] !== 0)
      .join("  ")
      .trimEnd(),
  );
}
