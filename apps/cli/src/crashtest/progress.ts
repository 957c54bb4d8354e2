// A bar on stderr, where that is a terminal: how many crash points are behind.

import type { Terminal } from "../terminal.ts";

const width = 30;

export class Progress {
  readonly #terminal: Terminal;
  readonly #isShown: boolean;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#isShown = terminal.showsProgress;
  }

  show(done: number, all: number): void {
    if (!this.#isShown) return;
    const full = Math.round((done / Math.max(all, 1)) * width);
    const bar = `${"█".repeat(full)}${"░".repeat(width - full)}`;
    this.#terminal.show(`\r${bar} ${done}/${all} crash points\u001b[K`);
  }

  note(text: string): void {
    if (this.#isShown) this.#terminal.show(`\r${text}\u001b[K`);
  }

  clear(): void {
    if (this.#isShown) this.#terminal.show("\r\u001b[K");
  }
}
