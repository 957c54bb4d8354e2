// Medians of interleaved pairs: both sides of a ratio are measured in turns, so that what the machine does meanwhile
// falls on both.

export interface Paired {
  /** The median of the pairs' own ratios, first to second. */
  readonly ratio: number;
  /** The median of what the first was above the second. */
  readonly difference: number;
  readonly first: number;
  readonly second: number;
}

/** Measures both sides `rounds` times after one round that is thrown away; every other round begins with the second. */
export async function interleaved(
  rounds: number,
  first: () => Promise<number>,
  second: () => Promise<number>,
): Promise<Paired> {
  const pairs: { first: number; second: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    let pair: { first: number; second: number };
    if (round % 2 === 0) {
      const one = await first();
      pair = { first: one, second: await second() };
    } else {
      const two = await second();
      pair = { first: await first(), second: two };
    }
    if (round > 0) pairs.push(pair);
  }
  return {
    ratio: median(pairs.map((pair) => pair.first / pair.second)),
    difference: median(pairs.map((pair) => pair.first - pair.second)),
    first: median(pairs.map((pair) => pair.first)),
    second: median(pairs.map((pair) => pair.second)),
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Interpolated between the two nearest values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}
