// Text from outside as lines of the screen: nothing in it steers the terminal, and no line is wider than the screen.

import {
  stripTerminalSequences,
  truncateToWidth,
  visibleWidth,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import { cut } from "@lichen/wire";
import { printable } from "../../printable.ts";
import type { Style } from "./theme.ts";

const tab = "   ";
const longLine = 4_000;
const invisible = /[\u061c\u200b\u200e\u200f\u2028\u2029\ufeff]/g;

/** The text as a terminal may show it: no escape sequences, control or direction characters, tabs as spaces. */
export function clean(text: string): string {
  const shown = text.includes("\r") ? withoutOverwritten(text) : text;
  return printable(stripTerminalSequences(shown))
    .replace(invisible, "")
    .replaceAll("\t", tab)
    .toWellFormed();
}

/** The same on one line, its beginning. */
export function cleanLine(text: string, length = 1_000): string {
  return cut(clean(cut(text, length * 2).replaceAll(/\s+/g, " ")), length).trim();
}

/** What a progress line has come to: the text after its last return to the line's beginning. */
function withoutOverwritten(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const end = withoutLast(line, "\r");
      return end.slice(end.lastIndexOf("\r") + 1);
    })
    .join("\n");
}

/** The line, cut where it is wider than the screen. */
export function fit(line: string, width: number, ellipsis = ""): string {
  if (visibleWidth(line) <= width) return line;
  for (let room = width; room > 0; room--) {
    const shorter = truncateToWidth(line, room, ellipsis);
    if (visibleWidth(shorter) <= width) return shorter;
  }
  return "";
}

/** One row: cut with an ellipsis. */
export function row(line: string, width: number): string {
  if (visibleWidth(line) <= width) return line;
  if (line.includes("\u001b")) return fit(line, width, "…");
  // What is cut ends in a reset, which would end the style around it.
  return `${fit(line, width - 1).replace("\u001b[0m", "")}…`;
}

/** The line, or as much of its beginning and an ellipsis: what is shown of a huge line costs no more than that. */
export function beginning(line: string, units: number): string {
  return line.length <= units ? line : `${cut(line, units)}…`;
}

/** Clean text word by word on rows of this width; a line of thousands of characters character by character. */
export function wrapped(text: string, width: number): string[] {
  const room = Math.max(1, width);
  if (text.length <= longLine || text.includes("\n")) return wrapTextWithAnsi(text, room);
  const rows: string[] = [];
  const isNarrow = /^[ -~]*$/.test(text);
  for (let rest = text; rest !== "";) {
    const piece = isNarrow ? rest.slice(0, room) : cut(rest, longLine);
    if (isNarrow) rows.push(piece);
    else rows.push(...wrapTextWithAnsi(piece, room));
    rest = rest.slice(piece.length);
  }
  return rows;
}

/** The same of several lines. */
export function wrappedLines(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapped(line, width));
}

/** Rows behind a mark, each cut to the screen; the mark stands before the first alone where there is another for the rest. */
export function behind(
  mark: string,
  rows: readonly string[],
  width: number,
  rest: string = mark,
): string[] {
  return rows.map((it, at) => fit((at === 0 ? mark : rest) + it, width));
}

export interface Fold {
  readonly isUnfolded: boolean;
  readonly first: number;
  readonly last: number;
}

/** The first and the last of the lines, and how many are left out in between. */
export function folded<T>(
  lines: readonly T[],
  { isUnfolded, first, last }: Fold,
): { head: readonly T[]; left: number; tail: readonly T[] } {
  const left = lines.length - first - last;
  if (isUnfolded || left <= 1) return { head: lines, left: 0, tail: [] };
  return { head: lines.slice(0, first), left, tail: last === 0 ? [] : lines.slice(-last) };
}

export function leftOut(count: number): string {
  return `… ${countOf(count, "line")}, ctrl+o shows all`;
}

/**
 * Lines of clean text in a colour: folded with one row a line, unfolded with every word. What is left out is said in a
 * colour of its own.
 */
export function textRows(
  lines: readonly string[],
  width: number,
  fold: Fold,
  style: Style,
  note: Style,
): string[] {
  if (fold.isUnfolded) return lines.flatMap((line) => wrapped(line, width).map(style));
  const { head, left, tail } = folded(lines, fold);
  const styled = (line: string): string => style(row(beginning(line, width * 8), width));
  return [
    ...head.map(styled),
    ...(left > 0 ? [note(row(leftOut(left), width))] : []),
    ...tail.map(styled),
  ];
}

/** The lines of a text, without the empty ones at its end. */
export function linesOf(text: string): string[] {
  return withoutLast(text, "\n").split("\n");
}

/** Without this character at its end, however often it stands there; a pattern would walk a long run again and again. */
function withoutLast(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end--;
  return text.slice(0, end);
}

export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
