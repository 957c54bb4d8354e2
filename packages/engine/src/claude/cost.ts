// What turns cost: what Claude Code's running total rises by.
//
//   CC38  A process counts from nothing or goes on from what its conversation has cost, as its version does: one that
//         resumes says what it counts from. Where it does not say, its first result charges nothing.
//
//   Seen: each process of 2.1.197 counts from nothing, also with `--resume`; those of 2.1.287 and 2.1.332 go on from what
//   the last one had counted when it ended. All answer `get_session_cost` before their first turn, in words, rounded.

import type { JsonObject } from "@lichen/wire";
import type { TurnResult } from "./line.ts";

/** `Total cost:` or `Estimated cost:`, by version. */
const totalIn = /\bcost:\s*\$([\d,]*\.?\d+)/i;

/** The running total of one process, in US dollars. */
export class Cost {
  /** The highest that was seen: the total can dip. */
  #mark: number | undefined;

  /** A process starts, on a new conversation or not. */
  begin(isNew: boolean): void {
    this.#mark = isNew ? 0 : undefined;
  }

  get isKnown(): boolean {
    return this.#mark !== undefined;
  }

  /** It answered `get_session_cost`. */
  told({ text }: JsonObject): void {
    const [, total] = (typeof text === "string" && totalIn.exec(text)) || [];
    if (total !== undefined) this.#mark = Number(total.replaceAll(",", ""));
  }

  /** What a turn has cost; nothing where that is not known. */
  riseTo({ totalCost }: TurnResult): number | undefined {
    if (totalCost === undefined) return undefined;
    const mark = this.#mark;
    this.#mark = Math.max(mark ?? 0, totalCost);
    return mark === undefined ? undefined : Math.max(0, totalCost - mark);
  }
}
