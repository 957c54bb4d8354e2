// The name a person probably meant: the closest by edits, if it is close enough to be worth saying.

/** The candidate nearest to `typed`, or undefined where none is within a third of its length (two edits at least). */
export function nearest(typed: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(typed.length / 3));
  let best: { name: string; edits: number } | undefined;
  for (const name of candidates) {
    const edits = name.startsWith(typed) && typed.length > 1 ? 1 : distance(typed, name);
    if (edits < name.length && edits <= limit && (best === undefined || edits < best.edits)) {
      best = { name, edits };
    }
  }
  return best?.name;
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwap)
        edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
