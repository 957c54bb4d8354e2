// A text that grows on the screen: each time only what the screen lacks of it is written.

import { printable } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

export class LiveText {
  readonly #terminal: Terminal;
  #shown = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows the text so far; one that does not go on with the last is another one. */
  show(text: string): void {
    const rest = text.startsWith(this.#shown) ? text.slice(this.#shown.length) : text;
    if (rest === "") return;
    this.#terminal.answer(printable(rest));
    this.#shown = text;
  }

  /** The next text begins on a line of its own. */
  endLine(): void {
    if (this.#shown !== "" && !this.#shown.endsWith("\n")) this.#terminal.answer("\n");
    this.#shown = "";
  }
}
