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
  readonly hints: string;
  readonly cancel: () => void;
  /** Something else was typed. */
  readonly other: (data: string) => void;
}

export class Choices implements Panel {
  focused = false;
  readonly #options: ChoicesOptions;
  #at = 0;

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
      choices[this.#at]?.choose();
    } else this.#options.other(data);
  }

  render(width: number): readonly string[] {
    const { theme, head, choices, hints } = this.#options;
    const rows = choices().map(({ label, hint, isTicked }, at) => {
      const isHere = this.focused && at === this.#at;
      const tick = isTicked === undefined ? "" : isTicked ? "[x] " : "[ ] ";
      const text = `${isHere ? "→" : " "} ${at + 1} ${tick}${printable(label)}`;
      const told = hint === undefined ? "" : theme.dim(` ${printable(hint)}`);
      return truncateToWidth(`${isHere ? theme.accent(text) : text}${told}`, width);
    });
    const hint = this.focused ? hints : "tab answers this";
    return [...head(width), ...rows, truncateToWidth(theme.dim(hint), width)];
  }

  invalidate(): void {}
}
