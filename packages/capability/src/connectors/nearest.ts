// The name somebody probably meant, for sentences that refuse one.

/** The closest of `names`, where it is close enough to be a slip. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const word = plain(typed);
  let best: string | undefined;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const other = plain(name);
    if (Math.abs(other.length - word.length) >= least && !other.startsWith(word)) continue;
    const edits = word.length > 1 && other.startsWith(word) ? 1 : editsBetween(word, other);
    if (edits < least && edits < other.length) [best, least] = [name, edits];
  }
  return best;
}

/** ` Did you mean "…"?`, or the names there are while they are few. */
export function hint(typed: string, names: readonly string[]): string {
  const meant = nearest(typed, names);
  if (meant !== undefined) return ` Did you mean "${meant}"?`;
  if (names.length === 0) return "";
  const shown = names.slice(0, 12).join(", ");
  return ` There ${names.length === 1 ? "is" : "are"} ${shown}${names.length > 12 ? `, and ${names.length - 12} more` : ""}.`;
}

/** Without case and the signs that names are joined by. */
function plain(name: string): string {
  return name
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[-_./ ]/g, "");
}

function editsBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + cost));
    }
    above = row;
  }
  return above[b.length]!;
}
