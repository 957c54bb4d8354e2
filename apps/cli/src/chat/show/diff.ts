// What an edit changes, line by line: removed and added, numbered where the numbers are known.

import { beginning, clean, type Fold, folded, leftOut, row, wrapped } from "./lines.ts";
import type { Theme } from "./theme.ts";

export interface DiffLine {
  readonly sign: "+" | "-" | " " | "@";
  readonly text: string;
  readonly number?: number;
}

/** Above this many pairs of lines, everything between the first and the last change counts as changed. */
const maxPairs = 250_000;
const context = 3;

/** The lines of a unified diff; undefined where the text is none. */
export function patched(patch: string): DiffLine[] | undefined {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let isWithin = false;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (head) {
      isWithin = true;
      before = Number(head[1]);
      after = Number(head[2]);
      if (lines.length > 0) lines.push({ sign: "@", text: "…" });
      continue;
    }
    if (!isWithin) continue;
    const text = line.slice(1);
    if (line.startsWith("-")) lines.push({ sign: "-", text, number: before++ });
    else if (line.startsWith("+")) lines.push({ sign: "+", text, number: after++ });
    else if (line.startsWith(" ") || line === "") {
      lines.push({ sign: " ", text, number: after++ });
      before++;
    }
  }
  return isWithin ? lines : undefined;
}

/** What turns one text into the other, with three lines around each change. Without numbers: where it stands is not known. */
export function changed(oldText: string, newText: string): DiffLine[] {
  const before = oldText === "" ? [] : oldText.split("\n");
  const after = newText === "" ? [] : newText.split("\n");
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before.at(-1 - end) === after.at(-1 - end)
  )
    end++;
  const same = (text: string): DiffLine => ({ sign: " ", text });
  return [
    ...before.slice(Math.max(0, start - context), start).map(same),
    ...between(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end, before.length - end + context).map(same),
  ];
}

/** The longest common lines stay, all others are removed or added. */
function between(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ sign: "-", text });
  const added = (text: string): DiffLine => ({ sign: "+", text });
  if (before.length * after.length > maxPairs) return [...before.map(removed), ...after.map(added)];
  const columns = after.length + 1;
  /** How many lines are common from here on. */
  const common = new Uint32Array((before.length + 1) * columns);
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i * columns + j] =
        before[i] === after[j]
          ? common[(i + 1) * columns + j + 1]! + 1
          : Math.max(common[(i + 1) * columns + j]!, common[i * columns + j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i]! });
      i++;
      j++;
    } else if (
      j === after.length ||
      (i < before.length && common[(i + 1) * columns + j]! >= common[i * columns + j + 1]!)
    )
      lines.push(removed(before[i++]!));
    else lines.push(added(after[j++]!));
  }
  return lines;
}

/** Rows of this width. `seen` makes the text of a line fit for the screen. */
export function diffRows(
  lines: readonly DiffLine[],
  theme: Theme,
  width: number,
  fold: Fold,
  seen: (text: string) => string = clean,
): string[] {
  const digits = lines.reduce((most, { number }) => Math.max(most, String(number ?? "").length), 0);
  const { head, left, tail } = folded(lines, fold);
  const rows = (line: DiffLine): string[] => rowsOf(line, theme, width, digits, fold, seen);
  return [
    ...head.flatMap(rows),
    ...(left > 0 ? [theme.dim(row(leftOut(left), width))] : []),
    ...tail.flatMap(rows),
  ];
}

function rowsOf(
  { sign, text, number }: DiffLine,
  theme: Theme,
  width: number,
  digits: number,
  fold: Fold,
  seen: (text: string) => string,
): string[] {
  if (sign === "@")
    return [theme.dim(" ".repeat(Math.max(0, Math.min(digits - 1, width - 1))) + text)];
  const isNarrow = width < digits + 12;
  const numbered = digits === 0 || isNarrow ? "" : `${String(number ?? "").padStart(digits)} `;
  const style = sign === "+" ? theme.added : sign === "-" ? theme.removed : theme.dim;
  const room = Math.max(1, width - numbered.length - 2);
  const whole = seen(text);
  const rows = fold.isUnfolded ? wrapped(whole, room) : wrapped(beginning(whole, room * 8), room);
  const shown = fold.isUnfolded || rows.length <= 3 ? rows : [...rows.slice(0, 2), "…"];
  return shown.map((it, at) =>
    at === 0
      ? theme.dim(numbered) + style(`${sign} ${it}`)
      : " ".repeat(numbered.length) + style(`  ${it}`),
  );
}
