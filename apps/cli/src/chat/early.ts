// What a person sends before the agent is reached: nothing can keep it yet, so it waits on the screen and goes in its order
// once it can be kept.

import type { Message } from "./outgoing.ts";
import type { QueuedLine } from "./show/queue.ts";

export class Early {
  readonly #waiting: Message[] = [];
  #isOver = false;

  /** Whether the message waits here: so does each one, from the first until none waits any more. */
  take(message: Message): boolean {
    if (!this.#isOver) this.#waiting.push(message);
    return !this.#isOver;
  }

  /** The newest one, to be written on. */
  takeBack(): Message | undefined {
    return this.#waiting.pop();
  }

  lines(): QueuedLine[] {
    return this.texts.map((text) => ({ text, state: "early" }));
  }

  get texts(): string[] {
    return this.#waiting.map(({ text }) => text);
  }

  /** Hands over all of them, oldest first, those too that come meanwhile; from then on none is taken. */
  async go(send: (message: Message) => Promise<void>): Promise<void> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        await send(next);
      }
    } finally {
      this.#isOver = true;
    }
  }
}
