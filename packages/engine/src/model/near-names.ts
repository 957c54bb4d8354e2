// Names that a mistyped one may have meant.

/** The five most alike, by the pairs of letters they share. */
export function nearest(name: string, known: readonly string[]): string[] {
  const wanted = pairs(name);
  return [...new Set(known)]
    .map((it) => {
      const has = pairs(it);
      const shared = [...wanted].filter((pair) => has.has(pair)).length;
      return { it, score: (2 * shared) / (wanted.size + has.size || 1) };
    })
    .filter(({ score }) => score > 0.1)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, 5)
    .map(({ it }) => it);
}

function pairs(text: string): Set<string> {
  const lower = text.toLowerCase();
  return new Set(
    Array.from({ length: Math.max(0, lower.length - 1) }, (_, at) => lower.slice(at, at + 2)),
  );
}
