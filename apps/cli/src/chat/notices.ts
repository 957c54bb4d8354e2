// What the program itself tells: a few lines, the newest last, until they are dismissed.

import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { printable } from "../printable.ts";
import type { Theme } from "./show/theme.ts";

export type Weight = "note" | "warn" | "error";

const most = 4;
/** Of one notice. */
const mostRows = 6;

export class Notices {
  readonly #changed: () => void;
  #all: { readonly text: string; readonly weight: Weight }[] = [];

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  say(text: string, weight: Weight = "note"): void {
    const line = printable(text).trim();
    if (line === "") return;
    this.#all = [...this.#all.filter((notice) => notice.text !== line), { text: line, weight }];
    this.#all = this.#all.slice(-most);
    this.#changed();
  }

  /** What went wrong, in the words of whoever refused it. */
  sayError(error: unknown): void {
    this.say(error instanceof Error ? error.message : String(error), "error");
  }

  dismiss(): void {
    if (this.isEmpty) return;
    this.#all = [];
    this.#changed();
  }

  lines(theme: Theme, width: number): string[] {
    const styles = { note: theme.dim, warn: theme.warn, error: theme.error };
    return this.#all.flatMap(({ text, weight }) =>
      text
        .split("\n")
        .flatMap((line) => wrapTextWithAnsi(`· ${line}`, width))
        .slice(0, mostRows)
        .map((line) => styles[weight](line)),
    );
  }
}
