// The terminal as the screen uses it. Tells what the screen writes from what others write to stdout, and takes a paste
// in at a cost that grows with its length alone.

import { ProcessTerminal, StdinBuffer } from "@earendil-works/pi-tui";
import { gather } from "./pasting.ts";

/** All through which the library writes, its own inner steps included: those are called by what it reads. */
const writing = [
  "start",
  "stop",
  "drainInput",
  "write",
  "moveBy",
  "hideCursor",
  "showCursor",
  "clearLine",
  "clearFromCursor",
  "clearScreen",
  "setTitle",
  "setProgramStatus",
  "writeProgramStatus",
  "enableModifyOtherKeys",
  "disableModifyOtherKeys",
] as const;

export class OwnTerminal extends ProcessTerminal {
  #depth = 0;

  constructor() {
    super();
    for (const name of writing) {
      const method: unknown = Reflect.get(this, name);
      if (typeof method !== "function") throw new Error(`The terminal has no ${name}`);
      Reflect.set(this, name, (...args: unknown[]) => this.#as(method, args));
    }
  }

  /** Whether what is written to stdout right now is the screen's. */
  get isWriting(): boolean {
    return this.#depth > 0;
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    super.start(onInput, onResize);
    const buffer: unknown = Reflect.get(this, "stdinBuffer");
    if (buffer instanceof StdinBuffer) gather(buffer);
  }

  #as(method: Function, args: readonly unknown[]): unknown {
    this.#depth++;
    try {
      return Reflect.apply(method, this, args);
    } finally {
      this.#depth--;
    }
  }
}
