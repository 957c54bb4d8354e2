// Whose turn it is: the order of outcomes and when each came, from the journal, else from this run itself.

import type { Journal } from "@lichen/capability/execute";

export class Turns {
  readonly #journal: Journal | undefined;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #order: number[] = [];
  readonly #times = new Map<number, number>();

  constructor(journal: Journal | undefined, now: () => number) {
    this.#journal = journal;
    this.#now = now;
    this.#startedAt = journal?.startedAt ?? now();
  }

  get order(): readonly number[] {
    return this.#journal?.order ?? this.#order;
  }

  /** The outcome that comes after the first `delivered` ones, if it is known. */
  after(delivered: number): number | undefined {
    return this.order[delivered];
  }

  /** The guest's clock when it has the first `delivered` outcomes, in whole ms. */
  clock(delivered: number): number {
    const last = this.order[delivered - 1];
    if (last === undefined) return Math.trunc(this.#startedAt);
    const at = this.#journal ? this.#journal.recordedAt(last) : this.#times.get(last);
    return Math.trunc(at ?? this.#startedAt);
  }

  /** An outcome came. Without a journal it is the next; a journal must have it already. */
  came(ordinal: number): void {
    if (!this.#journal) {
      this.#order.push(ordinal);
      this.#times.set(ordinal, this.#now());
    } else if (!this.#journal.order.includes(ordinal))
      throw new Error(`Call ${ordinal} settled, and its outcome is not in the journal's order.`);
  }
}
