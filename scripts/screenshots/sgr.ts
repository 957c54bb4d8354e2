// Reads styled terminal lines: which characters stand in which columns, and how each is coloured.

export interface Style {
  /** `#rrggbb`, or the number of a colour of the terminal's own palette; undefined is the terminal's default. */
  readonly ink: string | number | undefined;
  readonly ground: string | number | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly struck: boolean;
  readonly inverse: boolean;
}

/** One character as a person sees it, and the columns that it takes. */
export interface Cell {
  readonly text: string;
  readonly column: number;
  readonly width: number;
}

export interface Run {
  readonly cells: readonly Cell[];
  readonly style: Style;
}

const plain: Style = {
  ink: undefined,
  ground: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  struck: false,
  inverse: false,
};

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const styling = new RegExp(String.raw`\u001b\[([\d;:]*)m`);
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The runs of each line. A style goes on into the next line, as tmux writes it. */
export function runsOf(lines: readonly string[]): Run[][] {
  let style = plain;
  return lines.map((line) => {
    const runs: Run[] = [];
    let column = 0;
    for (const [at, piece] of line.split(styling).entries()) {
      if (at % 2 === 1) {
        style = changed(style, piece);
        continue;
      }
      const cells: Cell[] = [];
      for (const { segment: text } of graphemes.segment(piece)) {
        const width = wide.test(text) ? 2 : 1;
        cells.push({ text, column, width });
        column += width;
      }
      if (cells.length > 0) runs.push({ cells, style });
    }
    return runs;
  });
}

function changed(style: Style, codes: string): Style {
  const rest = codes.split(/[;:]/).map(Number);
  let next = style;
  while (rest.length > 0) {
    const code = rest.shift() ?? 0;
    if (code === 38) next = { ...next, ink: colour(rest) };
    else if (code === 48) next = { ...next, ground: colour(rest) };
    else next = { ...next, ...simple(code) };
  }
  return next;
}

function simple(code: number): Partial<Style> {
  if (code >= 30 && code <= 37) return { ink: code - 30 };
  if (code >= 40 && code <= 47) return { ground: code - 40 };
  if (code >= 90 && code <= 97) return { ink: code - 82 };
  if (code >= 100 && code <= 107) return { ground: code - 92 };
  switch (code) {
    case 0:
      return plain;
    case 1:
      return { bold: true };
    case 2:
      return { dim: true };
    case 3:
      return { italic: true };
    case 4:
      return { underline: true };
    case 7:
      return { inverse: true };
    case 9:
      return { struck: true };
    case 22:
      return { bold: false, dim: false };
    case 23:
      return { italic: false };
    case 24:
      return { underline: false };
    case 27:
      return { inverse: false };
    case 29:
      return { struck: false };
    case 39:
      return { ink: undefined };
    case 49:
      return { ground: undefined };
    default:
      return {};
  }
}

/** Takes the rest of a colour after 38 or 48 off the codes. */
function colour(rest: number[]): string | number | undefined {
  const kind = rest.shift();
  if (kind === 2) return hex(rest.splice(0, 3));
  const index = kind === 5 ? rest.shift() : undefined;
  if (index === undefined || index < 16) return index;
  if (index >= 232) return hex(Array.from({ length: 3 }, () => 8 + (index - 232) * 10));
  const steps = [0, 95, 135, 175, 215, 255];
  return hex([36, 6, 1].map((step) => steps[Math.floor((index - 16) / step) % 6] ?? 0));
}

function hex(parts: readonly number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
