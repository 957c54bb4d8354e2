// The snapshots of one program: what its journal keeps, what was tried last, and whether the guest is what is kept.
//
//   S1  One is made at most once for each number of outcomes that the guest has.
//   S2  The guest is what is kept only between the keeping and the next outcome.

import type { Journal, Snapshot } from "@lichen/capability/execute";

export class KeptSnapshots {
  readonly #journal: Journal | undefined;
  readonly #kept: () => void;
  /** How many outcomes the newest one held that was tried. */
  #triedAt = -1;
  #isCurrent = false;
  #saving: Promise<void> = Promise.resolve();

  /** `kept` is told when one is kept. */
  constructor(journal: Journal | undefined, kept: () => void) {
    this.#journal = journal;
    this.#kept = kept;
  }

  /** The guest as it stands is in the journal. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Settles when nothing is being kept. */
  get settled(): Promise<void> {
    return this.#saving;
  }

  /** What a guest in `engine` can go on from, of a program with so many outcomes. */
  begin(engine: string, outcomes: number): Snapshot | undefined {
    const snapshot = this.#journal?.snapshot();
    if (!snapshot || snapshot.engine !== engine || snapshot.delivered > outcomes) return undefined;
    this.#triedAt = snapshot.delivered;
    this.#isCurrent = true;
    return snapshot;
  }

  /** What `begin` gave was none. */
  refuse(): void {
    this.#triedAt = -1;
    this.#isCurrent = false;
  }

  /** Whether one of a guest with so many outcomes is worth making. */
  isDue(delivered: number): boolean {
    return this.#journal !== undefined && this.#triedAt !== delivered;
  }

  /** None is made of a guest with so many outcomes from now on. */
  tried(delivered: number): void {
    this.#triedAt = delivered;
  }

  /** The guest goes on. */
  leave(): void {
    this.#isCurrent = false;
  }

  /** Keeps one of the guest that has so many outcomes; `now` answers how many it has once that is done. */
  save(snapshot: Snapshot, now: () => number): void {
    const journal = this.#journal;
    if (!journal) return;
    this.#saving = this.#saving
      .then(() => journal.save(snapshot))
      .then(
        () => {
          this.#isCurrent = now() === snapshot.delivered;
          this.#kept();
        },
        // It was not kept: the program is run again from its start, or from the one before.
        () => undefined,
      );
  }
}
