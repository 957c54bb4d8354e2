// Places: how many commands run in this host at once, and who gets a place that became free.
//
//   Q3  A command that found no place waits; places are given to sessions in turn, not to the busiest one. Runs that an
//       earlier process left come first. A run that waits for a person gives its place away meanwhile.

/** Who a free place is handed to: a run of an earlier process, or a session with queued work. */
export type Waiting = { readonly orphan: number } | { readonly sid: number };

export class Places {
  readonly #capacity: number;
  readonly #hand: (to: Waiting) => void;
  /** Sessions with queued work that found no place, in turn. */
  readonly #ready = new Set<number>();
  /** Runs of an earlier process that wait for a place. */
  readonly #orphans: number[] = [];
  #used = 0;
  #isClosed = false;

  /** `hand` is told of a place that was taken for somebody; it gives it back in the end. */
  constructor(capacity: number, hand: (to: Waiting) => void) {
    this.#capacity = capacity;
    this.#hand = hand;
  }

  get areFull(): boolean {
    return this.#used >= this.#capacity;
  }

  /** Whether a place that becomes free is somebody else's: others wait, or there are too many runs by now. */
  get areWanted(): boolean {
    return this.#ready.size > 0 || this.#orphans.length > 0 || this.#used > this.#capacity;
  }

  /** Takes a place; the answer takes that back as if it had never been. */
  take(): () => void {
    this.#used++;
    return () => {
      this.#used--;
    };
  }

  giveBack(): void {
    this.#used--;
    this.#offer();
  }

  /** Gives a place to others for a while; the answer takes it again, at once. */
  lend(): () => void {
    this.giveBack();
    return () => {
      this.#used++;
    };
  }

  /** What an earlier process left waits for places from now on. */
  adopt(left: { readonly running: readonly number[]; readonly queued: readonly number[] }): void {
    this.#orphans.push(...left.running);
    for (const sid of left.queued) this.#ready.add(sid);
    this.#offer();
  }

  isOrphan(cid: number): boolean {
    return this.#orphans.includes(cid);
  }

  /** The session has work and waits for its turn. */
  wait(sid: number): void {
    this.queueUp(sid);
    this.#offer();
  }

  /** The same, by somebody whose own place is about to become free. */
  queueUp(sid: number): void {
    this.#ready.add(sid);
  }

  forget(sid: number): void {
    this.#ready.delete(sid);
  }

  /** From now on nobody gets a place any more. */
  close(): void {
    this.#isClosed = true;
  }

  #offer(): void {
    while (!this.#isClosed && !this.areFull) {
      const orphan = this.#orphans.shift();
      const [sid] = this.#ready;
      if (orphan === undefined && sid === undefined) return;
      this.#used++;
      if (orphan !== undefined) {
        this.#hand({ orphan });
      } else {
        this.#ready.delete(sid!);
        this.#hand({ sid: sid! });
      }
    }
  }
}
