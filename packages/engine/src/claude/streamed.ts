// What Claude Code writes now and has not said as a line: kept also while no run is there to show it.

import type { Partial } from "@lichen/wire";

/** The block in hand, whole from its first word on. */
export class Streamed {
  #what: "text" | "thinking" = "text";
  #words = "";

  get now(): Pick<Partial, "text" | "thinking"> | undefined {
    return this.#words === "" ? undefined : { [this.#what]: this.#words };
  }

  add(what: "text" | "thinking", words: string): void {
    this.#what = what;
    this.#words += words;
  }

  /** What was written is said as a line by now, or given up: another block begins. */
  clear(): void {
    this.#words = "";
  }
}
