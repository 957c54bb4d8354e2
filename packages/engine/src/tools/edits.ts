// Exact replacements in a text. Either all of them are possible, or nothing is replaced and the reason says why.

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean | undefined;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly newText: string;
}

/** The text after all edits, each found in the text as it was before, and a unified diff of what changed. */
export function applyEdits(text: string, edits: readonly Edit[]): { text: string; diff: string } {
  const usesCrlf = text.includes("\r\n");
  const asInFile = (part: string) => (usesCrlf ? part.replace(/\r?\n/g, "\r\n") : part);
  const places = edits
    .flatMap((edit, index) => {
      const which = edits.length > 1 ? `Edit ${index + 1}: ` : "";
      return placesOf(text, asInFile(edit.oldText), asInFile(edit.newText), edit, which);
    })
    .toSorted((a, b) => a.start - b.start);
  places.forEach((place, index) => {
    const next = places[index + 1];
    if (next && next.start < place.end)
      throw new Error("Two edits touch the same text. Make them one edit.");
  });
  let result = "";
  let at = 0;
  for (const { start, end, newText } of places) {
    result += text.slice(at, start) + newText;
    at = end;
  }
  result += text.slice(at);
  if (result === text) throw new Error("The edits change nothing: old and new text are the same.");
  return { text: result, diff: diffOf(text, places) };
}

function placesOf(
  text: string,
  oldText: string,
  newText: string,
  edit: Edit,
  which: string,
): Place[] {
  if (oldText === "") throw new Error(`${which}oldText is empty. Use write to make a file.`);
  const places: Place[] = [];
  for (
    let start = text.indexOf(oldText);
    start >= 0;
    start = text.indexOf(oldText, start + oldText.length)
  )
    places.push({ start, end: start + oldText.length, newText });
  if (places.length === 0)
    throw new Error(
      `${which}The text was not found. It must match exactly, with every space and line break; read the file again.`,
    );
  if (places.length > 1 && edit.replaceAll !== true)
    throw new Error(
      `${which}The text matches ${places.length} times. Give more of its surroundings so that it matches once, or set replaceAll.`,
    );
  return places;
}

interface Hunk {
  first: number;
  last: number;
  readonly places: Place[];
}

/** The lines that changed, with three lines before and after; changes that touch share a hunk. */
function diffOf(text: string, places: readonly Place[]): string {
  const lines = text.split("\n");
  const starts = lineStarts(lines);
  const hunks: Hunk[] = [];
  for (const place of places) {
    const first = lineAt(starts, place.start);
    const last = lineAt(starts, place.end);
    const previous = hunks.at(-1);
    if (previous && first <= previous.last) {
      previous.last = last;
      previous.places.push(place);
    } else hunks.push({ first, last, places: [place] });
  }
  let shift = 0;
  return hunks
    .map((hunk) => {
      const removed = lines.slice(hunk.first, hunk.last + 1);
      const added = linesAfter(text, hunk, starts);
      let first = hunk.first;
      while (removed.length > 0 && added.length > 0 && removed[0] === added[0]) {
        removed.shift();
        added.shift();
        first++;
      }
      while (removed.length > 0 && added.length > 0 && removed.at(-1) === added.at(-1)) {
        removed.pop();
        added.pop();
      }
      const before = lines.slice(Math.max(0, first - contextLines), first);
      const next = first + removed.length;
      const behind = lines.slice(next, next + contextLines);
      const unchanged = before.length + behind.length;
      const begin = first - before.length + 1;
      const head = `@@ -${begin},${unchanged + removed.length} +${begin + shift},${unchanged + added.length} @@`;
      shift += added.length - removed.length;
      const marked = (mark: string, some: string[]) => some.map((line) => mark + line);
      return [
        head,
        ...marked(" ", before),
        ...marked("-", removed),
        ...marked("+", added),
        ...marked(" ", behind),
      ].join("\n");
    })
    .join("\n");
}

const contextLines = 3;

function linesAfter(text: string, hunk: Hunk, starts: readonly number[]): string[] {
  const next = starts[hunk.last + 1];
  let after = "";
  let at = starts[hunk.first] ?? 0;
  for (const place of hunk.places) {
    after += text.slice(at, place.start) + place.newText;
    at = place.end;
  }
  return (after + text.slice(at, next === undefined ? text.length : next - 1)).split("\n");
}

function lineStarts(lines: readonly string[]): number[] {
  const starts: number[] = [];
  let offset = 0;
  for (const line of lines) {
    starts.push(offset);
    offset += line.length + 1;
  }
  return starts;
}

/** The line that holds a position. */
function lineAt(starts: readonly number[], position: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
