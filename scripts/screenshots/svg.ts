// Draws a terminal's screen as an SVG: a window frame, the grounds, and text on an exact grid whatever font is at hand.

import { type Cell, runsOf, type Run, type Style } from "./sgr.ts";

export interface Look {
  readonly ink: string;
  readonly ground: string;
  readonly frame: string;
  readonly edge: string;
  /** The sixteen colours of the terminal's own palette. */
  readonly palette: readonly string[];
}

export const dark: Look = {
  ink: "#d8dee3",
  ground: "#15191c",
  frame: "#21272b",
  edge: "#343c42",
  palette: (
    "#2b3238 #e5707a #86c98f #e0bb6a #74a9e8 #c08fe0 #62c3c4 #c9d1d6 " +
    "#6c7880 #f08d95 #a3dcaa #efd18d #95c0f2 #d4aeef #86d8d8 #f2f5f7"
  ).split(" "),
};
export const light: Look = {
  ink: "#22292e",
  ground: "#fbfcfb",
  frame: "#edf0ee",
  edge: "#cfd6d2",
  palette: (
    "#22292e #b3323f #24753a #8a6100 #1f5fa8 #7b3fa0 #0f7273 #5d686f " +
    "#77838a #c94a56 #2f8a48 #a37300 #2f74c4 #9255b8 #178a8b #22292e"
  ).split(" "),
};

const cell = { width: 8.4, height: 19 };
const size = 14;
const inset = { side: 14, top: 38, bottom: 14 };

/** The picture of these styled lines, which stand on `cols` columns. The same lines give the same bytes. */
export function picture(
  lines: readonly string[],
  options: { cols: number; look: Look; title: string; describe: string },
): string {
  const { cols, look, title, describe } = options;
  const width = round(cols * cell.width + 2 * inset.side);
  const height = round(lines.length * cell.height + inset.top + inset.bottom);
  const rows = runsOf(lines);
  const body = [
    ...rows.flatMap((runs, row) => runs.map((run) => ground(run, row, look))),
    ...rows.flatMap((runs, row) => runs.flatMap((run) => ink(run, row, look))),
  ].filter(Boolean);
  const dots = [0, 1, 2].map(
    (at) => `<circle cx="${20 + at * 18}" cy="15" r="5" fill="${look.edge}"/>`,
  );
  const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(describe)}">
<title>${escaped(describe)}</title>
<style>text{font:${size}px ${fonts};white-space:pre}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9" fill="${look.ground}" stroke="${look.edge}"/>
<path d="M.5 30.5V9.5a9 9 0 0 1 9-9H${width - 9.5}a9 9 0 0 1 9 9V30.5Z" fill="${look.frame}" stroke="${look.edge}"/>
${dots.join("")}
<text x="${width / 2}" y="20" text-anchor="middle" fill="${look.palette[8]}">${escaped(title)}</text>
${body.join("\n")}
</svg>
`;
}

function ground({ cells, style }: Run, row: number, look: Look): string {
  const fill = coloursOf(style, look).ground;
  if (fill === look.ground) return "";
  const [x, y] = placeOf(cells[0]?.column ?? 0, row);
  // A little more each way: no seams between neighbours.
  return `<rect x="${x}" y="${round(y - 0.25)}" width="${round(widthOf(cells) + 0.3)}" height="${cell.height + 0.5}" fill="${fill}"/>`;
}

function ink({ cells, style }: Run, row: number, look: Look): string[] {
  const drawn: string[] = [];
  const { ink: fill } = coloursOf(style, look);
  const fade = style.dim ? ' opacity=".6"' : "";
  // Lines are drawn, since fonts leave gaps between the rows.
  const path = cells.map(({ text, column }) => shifted(lines.get(text), column, row)).join("");
  if (path !== "") drawn.push(`<path d="${path}" fill="none" stroke="${fill}"${fade}/>`);
  const manner = [
    `fill="${fill}"`,
    style.bold ? 'font-weight="bold"' : "",
    style.italic ? 'font-style="italic"' : "",
    style.underline ? 'text-decoration="underline"' : "",
    style.struck ? 'text-decoration="line-through"' : "",
  ].filter(Boolean);
  for (const word of wordsOf(cells)) {
    const [x, y] = placeOf(word[0]?.column ?? 0, row);
    const fit = word.length > 1 ? ` textLength="${widthOf(word)}"` : "";
    const text = escaped(word.map((each) => each.text).join(""));
    drawn.push(
      `<text x="${x}" y="${round(y + 14)}"${fit} ${manner.join(" ")}${fade}>${text}</text>`,
    );
  }
  return drawn;
}

/**
 * What is set in one piece: plain letters that stand together, or one character beyond them, whose width in a font
 * nobody knows.
 */
function wordsOf(cells: readonly Cell[]): Cell[][] {
  const words: Cell[][] = [];
  let word: Cell[] = [];
  for (const each of cells) {
    const isPlain = /^[!-~]$/.test(each.text);
    if (isPlain) word.push(each);
    else {
      if (word.length > 0) words.push(word);
      word = [];
      if (each.text !== " " && !lines.has(each.text)) words.push([each]);
    }
  }
  if (word.length > 0) words.push(word);
  return words;
}

function widthOf(cells: readonly Cell[]): number {
  return round(cells.reduce((sum, { width }) => sum + width, 0) * cell.width);
}

function coloursOf(style: Style, look: Look): { ink: string; ground: string } {
  const named = (colour: string | number | undefined, otherwise: string) =>
    typeof colour === "number" ? (look.palette[colour] ?? otherwise) : (colour ?? otherwise);
  const front = named(style.ink, look.ink);
  const back = named(style.ground, look.ground);
  return style.inverse ? { ink: back, ground: front } : { ink: front, ground: back };
}

/** Light lines by character: strokes within a cell, in halves of its width and height. */
const lines = new Map<string, string>([
  ["─", "M0 1H2"],
  ["│", "M1 0V2"],
  ["┌", "M2 1H1V2"],
  ["┐", "M0 1H1V2"],
  ["└", "M1 0V1H2"],
  ["┘", "M1 0V1H0"],
  ["├", "M1 0V2M1 1H2"],
  ["┤", "M1 0V2M1 1H0"],
  ["┬", "M0 1H2M1 1V2"],
  ["┴", "M0 1H2M1 1V0"],
  ["┼", "M0 1H2M1 0V2"],
  ["╭", "M2 1Q1 1 1 2"],
  ["╮", "M0 1Q1 1 1 2"],
  ["╰", "M1 0Q1 1 2 1"],
  ["╯", "M1 0Q1 1 0 1"],
]);

function shifted(path: string | undefined, column: number, row: number): string {
  if (path === undefined) return "";
  const [left, top] = placeOf(column, row);
  const x = (at: string) => round(left + (Number(at) * cell.width) / 2);
  const y = (at: string) => round(top + (Number(at) * cell.height) / 2);
  return path.replaceAll(
    /([MQ])(\d) (\d)(?: (\d) (\d))?|H(\d)|V(\d)/g,
    (_, kind: string, x1: string, y1: string, x2: string, y2: string, h: string, v: string) => {
      if (h) return `H${x(h)}`;
      if (v) return `V${y(v)}`;
      return kind === "M" ? `M${x(x1)} ${y(y1)}` : `Q${x(x1)} ${y(y1)} ${x(x2)} ${y(y2)}`;
    },
  );
}

function placeOf(column: number, row: number): [number, number] {
  return [round(inset.side + column * cell.width), round(inset.top + row * cell.height)];
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
