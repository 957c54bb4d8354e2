// A model's text while it is written. Blocks that can no longer change are drawn once; what is drawn again with each
// state of the text is its end.
//
//   The lines are those that the whole text has. A block counts as settled where a plain paragraph follows it after an
//   empty line, outside of fences, HTML and formulas. The definition of a link may change any block before it: a text
//   with one is drawn whole.

import type { Look } from "./call.ts";
import { markdownLines } from "./message.ts";

export class Growing {
  readonly #worthIt: number;
  #source = "";
  #lines: readonly string[] = [];
  #isWhole = false;
  #look: Look | undefined;

  /** An end that is shorter than `worthIt` is drawn whole. */
  constructor(worthIt: number = 1_000) {
    this.#worthIt = worthIt;
  }

  /** The lines of the text so far. */
  lines(text: string, look: Look): readonly string[] {
    if (!isSame(look, this.#look) || !text.startsWith(this.#source)) this.#reset(look);
    const rest = text.slice(this.#source.length);
    const end = this.#isWhole || rest.length < this.#worthIt ? 0 : settledEnd(rest);
    if (end === undefined) {
      this.#reset(look);
      this.#isWhole = true;
      return markdownLines(text, look);
    }
    if (end > 0) {
      const settled = rest.slice(0, end);
      this.#lines = [...this.#lines, ...markdownLines(settled.trimEnd(), look), ""];
      this.#source += settled;
    }
    return [...this.#lines, ...markdownLines(rest.slice(end), look)];
  }

  #reset(look: Look): void {
    this.#source = "";
    this.#lines = [];
    this.#isWhole = false;
    this.#look = look;
  }
}

function isSame(a: Look, b: Look | undefined): boolean {
  return a.theme === b?.theme && a.width === b.width;
}

/** Where what begins here ends is said further below, or it sets its own distance. */
// oxlint-disable-next-line no-control-regex -- an escape sequence may go over lines
const reaching = /\u001b|^ {0,3}(?:<|\$\$|\\\[)/;
const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/**
 * Where the last paragraph begins that settles what stands before it; 0 where none does, undefined where nothing can be
 * settled.
 */
function settledEnd(text: string): number | undefined {
  let end = 0;
  let at = 0;
  let open: string | undefined;
  let isAfterEmpty = false;
  let isReached = false;
  for (const line of text.split("\n")) {
    const [, marks, rest = ""] = fence.exec(line) ?? [];
    if (open !== undefined) {
      if (marks?.startsWith(open) && rest.trim() === "") open = undefined;
    } else if (line.includes("]:")) return undefined;
    else if (marks !== undefined && !(marks.startsWith("`") && rest.includes("`"))) open = marks;
    else if (!isReached && isAfterEmpty && at > 0 && /^\p{L}/u.test(line)) end = at;
    isReached ||= open === undefined ? reaching.test(line) : line.includes("\u001b");
    isAfterEmpty = line.trim() === "";
    at += line.length + 1;
  }
  return end;
}
