// What is tried again by itself: capabilities that could not be reached yet, and lists that their servers say changed.
//
//   One try at a time for each; after a failure the waits grow, and floods of changes are taken together.

import type { After } from "./within.ts";

const firstMs = 5_000;
const longestMs = 300_000;
const betweenMs = 1_000;

export class Retries {
  readonly #after: After;
  readonly #work: (id: string) => Promise<void>;
  /** How long the next failure waits, and how to cancel the wait; a try that runs has nothing to cancel. */
  readonly #failing = new Map<string, { ms: number; cancel?: () => void }>();
  readonly #changes = new Map<string, { again: boolean; cancel?: () => void }>();
  #isClosed = false;

  /** `work` tries once; a rejection is a failure. */
  constructor(after: After, work: (id: string) => Promise<void>) {
    this.#after = after;
    this.#work = work;
  }

  /** It could not be reached: it is tried again later, unless that is under way. */
  failed(id: string): void {
    if (!this.#failing.has(id)) this.#wait(id, firstMs);
  }

  #wait(id: string, ms: number): void {
    if (this.#isClosed) return;
    const waiting: { ms: number; cancel?: () => void } = { ms };
    waiting.cancel = this.#after(ms, () => {
      delete waiting.cancel;
      void this.#try(id, waiting);
    });
    this.#failing.set(id, waiting);
  }

  async #try(id: string, waiting: { ms: number }): Promise<void> {
    try {
      await this.#work(id);
      if (this.#failing.get(id) === waiting) this.#failing.delete(id);
    } catch {
      // Its row says why.
      if (this.#failing.get(id) === waiting) this.#wait(id, Math.min(waiting.ms * 2, longestMs));
    }
  }

  /** Its server says that it lends something else: it is asked, now or soon after the last time. */
  changed(id: string): void {
    if (this.#isClosed) return;
    const running = this.#changes.get(id);
    if (running) running.again = true;
    else void this.#follow(id);
  }

  async #follow(id: string): Promise<void> {
    const change: { again: boolean; cancel?: () => void } = { again: false };
    this.#changes.set(id, change);
    try {
      await this.#work(id);
    } catch {
      // Its row says why.
    }
    if (this.#isClosed || this.#changes.get(id) !== change) return;
    change.cancel = this.#after(betweenMs, () => {
      this.#changes.delete(id);
      if (change.again) this.changed(id);
    });
  }

  forget(id: string): void {
    for (const waits of [this.#failing, this.#changes]) {
      waits.get(id)?.cancel?.();
      waits.delete(id);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const id of [...this.#failing.keys(), ...this.#changes.keys()]) this.forget(id);
  }
}
