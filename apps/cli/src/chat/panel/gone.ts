// Stands where a person was about to answer what was decided meanwhile: the keys that were on their way go nowhere.

import { matchesKey, truncateToWidth } from "@earendil-works/pi-tui";
import type { Theme } from "../show/theme.ts";
import type { Panel } from "./panel.ts";

export class Gone implements Panel {
  focused = false;
  readonly #theme: Theme;
  readonly #goOn: () => void;

  constructor(theme: Theme, goOn: () => void) {
    this.#theme = theme;
    this.#goOn = goOn;
  }

  handleInput(data: string): void {
    if (matchesKey(data, "escape") || matchesKey(data, "enter")) this.#goOn();
  }

  render(width: number): readonly string[] {
    return [
      truncateToWidth(this.#theme.warn("That was decided elsewhere, or is asked no more."), width),
      truncateToWidth(this.#theme.dim("enter goes on"), width),
    ];
  }

  invalidate(): void {}
}
