// A short list of things to do, chosen by arrows and enter or by number; what else is typed belongs to the editor.

import { matchesKey, truncateToWidth } from "@earendil-works/pi-tui";
import { printable } from "../../printable.ts";
import type { Theme } from "../show/theme.ts";
import type { Panel } from "./panel.ts";

export interface Choice {
  readonly label: string;
  readonly hint?: string;
  /** Whether it is ticked, where several can be. */
  readonly isTicked?: boolean;
  readonly choose: () => void;
}

export interface ChoicesOptions {
  readonly theme: Theme;
  /** What stands above the choices, at most this many rows of it. */
  readonly head: (width: number) => readonly string[];
  readonly choices: () => readonly Choice[];
  /** How many choices are on the screen at once, the chosen one among them; all where it is left out. */
  readonly shown?: () => number;
  readonly hints: string;
  readonly cancel: () => void;
  /** Something else was typed. */
  readonly other: (data: string) => void;
}

export class Choices implements Panel {
  focused = false;
  readonly #options: ChoicesOptions;
  #at = 0;
  /** The choices on the screen, as they were drawn last. */
  #top = 0;
  #count = 0;

  constructor(options: ChoicesOptions) {
    this.#options = options;
  }

  handleInput(data: string): void {
    const choices = this.#options.choices();
    const count = Math.max(1, choices.length);
    if (matchesKey(data, "up")) this.#at = (this.#at + count - 1) % count;
    else if (matchesKey(data, "down")) this.#at = (this.#at + 1) % count;
    else if (matchesKey(data, "enter")) choices[this.#at]?.choose();
    else if (matchesKey(data, "space") && choices[this.#at]?.isTicked !== undefined)
      choices[this.#at]?.choose();
    else if (matchesKey(data, "escape")) this.#options.cancel();
    else if (/^[1-9]$/.test(data) && Number(data) <= choices.length) {
      this.#at = Number(data) - 1;
      // One that is out of sight is only brought into sight.
      if (this.#at >= this.#top && this.#at < this.#top + this.#count) choices[this.#at]?.choose();
    } else this.#options.other(data);
  }

  render(width: number): readonly string[] {
    const { theme, head, choices, hints, shown } = this.#options;
    const all = choices();
    const count = Math.min(all.length, shown?.() ?? all.length);
    const top = Math.max(0, Math.min(this.#at - Math.floor(count / 2), all.length - count));
    this.#top = top;
    this.#count = count;
    const rows = all.slice(top, top + count).map(({ label, hint, isTicked }, index) => {
      const at = top + index;
      const isHere = this.focused && at === this.#at;
      const tick = isTicked === undefined ? "" : isTicked ? "[x] " : "[ ] ";
      const text = `${isHere ? "→" : " "} ${at + 1} ${tick}${printable(label)}`;
      const told = hint === undefined ? "" : theme.dim(` ${printable(hint)}`);
      return truncateToWidth(`${isHere ? theme.accent(text) : text}${told}`, width);
    });
    const left = all.length - count;
    const more = left === 0 ? "" : `${left} more choices · `;
    const hint = this.focused ? theme.dim(more + hints) : theme.warn(`${more}tab answers this`);
    return [...head(width), ...rows, truncateToWidth(hint, width)];
  }

  invalidate(): void {}
}
