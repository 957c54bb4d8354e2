// The crash points of a run: one after each durable write, one between each effect and its outcome.

import type { Account, Death } from "./job.ts";

export interface Point {
  /** `w3` is the third write, `e1` the first effect. */
  readonly id: string;
  readonly death: Death;
  /** What had just become true, for people's eyes. */
  readonly what: string;
}

/** All points of the life that was counted, in their order. */
export function pointsOf({ writes, effects }: Account): Point[] {
  return [
    ...writes.map((kinds, index): Point => {
      const count = writes.slice(0, index + 1).filter((it) => it === kinds).length;
      const what = kinds === "" ? "bookkeeping" : kinds;
      return { id: `w${index + 1}`, death: { after: "write", kinds, count }, what };
    }),
    ...effects.map((tool, index): Point => {
      const what = `the effect of ${tool}`;
      return { id: `e${index + 1}`, death: { after: "effect", count: index + 1 }, what };
    }),
  ];
}

export interface Choice {
  readonly ids?: readonly string[];
  readonly every?: number;
}

/** The points to test; or the first id that names none. */
export function choose(
  points: readonly Point[],
  { ids, every = 1 }: Choice,
): { readonly points: readonly Point[] } | { readonly unknown: string } {
  const unknown = ids?.find((id) => !points.some((point) => point.id === id));
  if (unknown !== undefined) return { unknown };
  const named = ids === undefined ? points : points.filter(({ id }) => ids.includes(id));
  return { points: named.filter((_, index) => index % every === 0) };
}
