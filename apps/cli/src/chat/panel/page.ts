// A text to read: help, the queue, what is attached. Scrolls within its rows.

import { matchesKey, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { Theme } from "../show/theme.ts";
import { type Panel, panelRows } from "./panel.ts";

export interface PageOptions {
  readonly title: string;
  readonly lines: readonly string[];
  readonly theme: Theme;
  readonly rows: () => number;
  readonly cancel: () => void;
}

export class Page implements Panel {
  readonly capturesViewportInput = true;
  focused = false;
  readonly #options: PageOptions;
  #top = 0;

  constructor(options: PageOptions) {
    this.#options = options;
  }

  handleInput(data: string): void {
    const page = panelRows(this.#options.rows());
    if (matchesKey(data, "up")) this.#top -= 1;
    else if (matchesKey(data, "down")) this.#top += 1;
    else if (matchesKey(data, "pageUp")) this.#top -= page;
    else if (matchesKey(data, "pageDown") || matchesKey(data, "space")) this.#top += page;
    else if (matchesKey(data, "escape") || matchesKey(data, "enter") || matchesKey(data, "q"))
      this.#options.cancel();
  }

  render(width: number): readonly string[] {
    const { title, lines, theme, rows } = this.#options;
    const all = lines.flatMap((line) => wrapTextWithAnsi(line, width));
    const shown = panelRows(rows());
    this.#top = Math.max(0, Math.min(this.#top, all.length - shown));
    const rest = all.length - shown - this.#top;
    const hint = rest > 0 ? `${rest} more lines · ↓ goes on · esc closes` : "esc closes";
    return [
      truncateToWidth(theme.accent(title), width),
      ...all.slice(this.#top, this.#top + shown).map((line) => truncateToWidth(line, width)),
      truncateToWidth(theme.dim(hint), width),
    ];
  }

  invalidate(): void {}
}
