// What a person is to judge before they answer, within the rows there are: at a glance, or from a row of it on.
//
//   What is left out is counted, row for row. At a glance the beginning and the end of what is decided on are shown.

import { behind, countOf, row } from "./lines.ts";
import type { Theme } from "./theme.ts";

export interface Asked {
  /** One row, always shown. */
  readonly head: string;
  /** What is decided on. */
  readonly body: readonly string[];
  /** What is said of it; where there is little room, after all else. */
  readonly about: readonly string[];
}

export interface Shown {
  readonly lines: readonly string[];
  /** Where it goes on: the first row that is left out. Undefined where nothing is. */
  readonly next: number | undefined;
}

/** The width that is left for a row of the body. */
export function bodyWidth(width: number): number {
  return Math.max(1, width - 2);
}

/** At most `maxRows` rows. `keys` is said with what is left out. */
export function glance(
  { head, body, about }: Asked,
  theme: Theme,
  width: number,
  maxRows: number,
  keys = "",
): Shown {
  const left = Math.max(1, maxRows) - 1;
  const count = body.length + about.length;
  if (left === 0) {
    const counted = count === 0 ? head : `${head} (${countOf(count, "line")})`;
    return { lines: [row(counted, width)], next: count === 0 ? undefined : 0 };
  }
  const behindBar = (rows: readonly string[]) => behind(theme.border("│ "), rows, width);
  const indented = (rows: readonly string[]) => behind("  ", rows, width);
  const top = row(head, width);
  if (count <= left)
    return { lines: [top, ...behindBar(body), ...indented(about)], next: undefined };
  const space = left - 1;
  const told = Math.min(
    about.length,
    left < 6 && body.length > space ? 0 : Math.max(Math.floor(space / 3), space - body.length),
  );
  const room = space - told;
  const more = countOf(count - space, "more line").replace(/^/, "… ") + keys;
  const marker = theme.warn(row(more, bodyWidth(width)));
  if (body.length <= room) {
    const said = indented(about.slice(0, space - body.length));
    return { lines: [top, ...behindBar(body), ...said, ...indented([marker])], next: space };
  }
  const last = room < 2 ? 0 : Math.max(1, Math.floor(room / 3));
  const first = room - last;
  return {
    lines: [
      top,
      ...behindBar([...body.slice(0, first), marker, ...(last === 0 ? [] : body.slice(-last))]),
      ...indented(about.slice(0, told)),
    ],
    next: first,
  };
}

/** The rows from `top` on, with how many stand above and below them; `top` as it could be, and how many are shown. */
export function excerpt(
  { head, body, about }: Asked,
  theme: Theme,
  width: number,
  maxRows: number,
  wanted: number,
  keys = "",
): { lines: readonly string[]; top: number; page: number } {
  const count = body.length + about.length;
  const page = Math.max(1, maxRows - 2);
  const top = Math.max(0, Math.min(wanted, count - page));
  const end = Math.min(count, top + page);
  const isMarked = maxRows > 2;
  return {
    lines: [
      row(head, width),
      ...behind(theme.border("│ "), body.slice(top, end), width),
      ...behind(
        "  ",
        about.slice(Math.max(0, top - body.length), Math.max(0, end - body.length)),
        width,
      ),
      ...(isMarked
        ? [theme.warn(row(`  … ${top} above, ${count - end} below${keys}`, width))]
        : []),
    ],
    top,
    page,
  };
}
