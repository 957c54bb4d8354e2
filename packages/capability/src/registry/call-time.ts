// How long one call may take, without what waits for a person.

import type { CallContext } from "../connector.ts";
import type { After } from "./within.ts";

type Ask = NonNullable<CallContext["ask"]>;

export class CallTime {
  readonly #begin: () => () => void;
  #cancel: () => void;
  #asking = 0;
  #isOver = false;

  /** Calls `late` once `ms` are over in which nobody was asked. */
  constructor(after: After, ms: number, late: () => void) {
    this.#begin = () => after(ms, late);
    this.#cancel = this.#begin();
  }

  /** The same question; what waits for its answer begins anew behind it. */
  without(ask: Ask): Ask {
    return async (questions, description) => {
      if (++this.#asking === 1) this.#cancel();
      try {
        return await ask(questions, description);
      } finally {
        if (--this.#asking === 0 && !this.#isOver) this.#cancel = this.#begin();
      }
    };
  }

  end(): void {
    this.#isOver = true;
    this.#cancel();
  }
}
