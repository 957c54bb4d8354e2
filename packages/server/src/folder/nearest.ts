// The name somebody probably meant. Imports nothing: a command line is read before anything is loaded.

/** The closest of `names`, where it is close enough to be a slip of the keys, or begins with what was typed. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const word = typed.toLowerCase();
  let best: string | undefined;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const isBegun = word.length > 1 && name.toLowerCase().startsWith(word);
    const edits = isBegun ? 1 : editsBetween(word, name.toLowerCase());
    // What would be changed in every letter was not meant.
    if (edits < least && edits < name.length) [best, least] = [name, edits];
  }
  return best;
}

/** Insertions, deletions, substitutions and swaps of neighbours that lead from `a` to `b`. */
function editsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const above = rows[i - 1]!;
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, rows[i - 2]![j - 2]! + 1);
      row.push(edits);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
