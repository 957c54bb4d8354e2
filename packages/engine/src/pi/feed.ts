// What happens to one turn, in order: lines of pi, and what comes from elsewhere.

import type { Json } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import type { PiEvent } from "./codec.ts";

export interface LineRead {
  readonly type: "line";
  readonly line: Json;
  readonly event: PiEvent;
}

type Happening =
  | LineRead
  /** Someone steers. */
  | { readonly type: "steered" }
  /** The run is to stop. */
  | { readonly type: "stop" }
  | { readonly type: "gone"; readonly gone: Gone }
  /** Nothing more comes. */
  | { readonly type: "over" };

export class Feed {
  #waiting: Happening[] = [];
  #wake: (() => void) | undefined;
  #emptied: PromiseWithResolvers<void> | undefined;

  push(happening: Happening): void {
    this.#waiting.push(happening);
    this.#wake?.();
  }

  /** Puts what happened before all that waits here. */
  unshift(happenings: readonly Happening[]): void {
    this.#waiting.unshift(...happenings);
    this.#wake?.();
  }

  /** Takes all that waits. */
  drain(): Happening[] {
    this.#hasEmptied();
    return this.#waiting.splice(0);
  }

  /** Settles when all that happened so far was taken. */
  async empty(): Promise<void> {
    if (this.#waiting.length > 0) await (this.#emptied ??= Promise.withResolvers<void>()).promise;
  }

  #hasEmptied(): void {
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }

  waits(is: (happening: Happening) => boolean): boolean {
    return this.#waiting.some(is);
  }

  /** The next one, when it happens. */
  async next(): Promise<Happening> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) return next;
      this.#hasEmptied();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
