// What pi's counters rose by.
//
//   PI12 Only the rise since the last look counts: a counter that begins anew with its process, and one that holds a
//        conversation's whole past, charge nothing twice and nothing that was spent before. A run that goes on after its
//        host's death is looked at from its own beginning.

import { type JsonObject, noUsage, type Usage } from "@lichen/wire";
import { numberAt, objectAt } from "./codec.ts";

const counters = ["input", "output", "cacheRead", "cacheWrite", "cost"] as const;

export class Meter {
  #mark: Usage | undefined;

  /** What the counters say of a process that has just begun. */
  begin(stats: JsonObject): void {
    this.#mark = countersOf(stats);
  }

  /** What the counters said at the last look, as pi says it. */
  get stats(): JsonObject {
    const { cost = 0, ...tokens } = this.#mark ?? noUsage;
    return { tokens, cost };
  }

  /** A run goes on that began at these counters: what an earlier process used is part of it. */
  goOnFrom(stats: JsonObject): void {
    const from = countersOf(stats);
    const now = this.#mark ?? from;
    const isSame = counters.every((name) => (from[name] ?? 0) <= (now[name] ?? 0));
    if (isSame) this.#mark = from;
  }

  /** What was used since the last look, beyond what is known already; undefined where that is nothing. */
  rise(stats: JsonObject, known: Usage): Usage | undefined {
    const now = countersOf(stats);
    const before = this.#mark ?? now;
    this.#mark = now;
    const beyond = (name: Exclude<(typeof counters)[number], "cost">): number =>
      Math.max(risen(now[name], before[name]) - known[name], 0);
    const cost = risen(now.cost ?? 0, before.cost ?? 0) - (known.cost ?? 0);
    const usage: Usage = {
      input: beyond("input"),
      output: beyond("output"),
      cacheRead: beyond("cacheRead"),
      cacheWrite: beyond("cacheWrite"),
      // What is left of adding fractions is no price.
      ...(cost > 1e-9 ? { cost } : {}),
    };
    const { input, output, cacheRead, cacheWrite } = usage;
    return input + output + cacheRead + cacheWrite > 0 || usage.cost !== undefined
      ? usage
      : undefined;
  }
}

function risen(now: number, before: number): number {
  return now < before ? now : now - before;
}

function countersOf(stats: JsonObject): Usage {
  const tokens = objectAt(stats, "tokens");
  return {
    input: numberAt(tokens, "input"),
    output: numberAt(tokens, "output"),
    cacheRead: numberAt(tokens, "cacheRead"),
    cacheWrite: numberAt(tokens, "cacheWrite"),
    cost: numberAt(stats, "cost"),
  };
}
