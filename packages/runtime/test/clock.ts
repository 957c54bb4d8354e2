// A clock that a test moves: time stands still between two `advance`.

export class Clock {
  #now = Date.UTC(2026, 0, 2, 3, 4, 5);
  #timers: { readonly at: number; readonly wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, wake: () => void): () => void {
    const timer = { at: this.#now + ms, wake };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((it) => it !== timer);
    };
  }

  /** Time passes in the middle of something: nothing is woken by that. */
  pass(ms: number): void {
    this.#now += ms;
  }

  /** When the earliest timer is due. */
  due(): number | undefined {
    return this.#timers.length === 0 ? undefined : Math.min(...this.#timers.map((it) => it.at));
  }

  /** Moves on, waking what falls due on the way in its order; what each wakes has its turns before the next. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      const due = this.due();
      if (due === undefined || due > until) break;
      this.#now = Math.max(this.#now, due);
      const timer = this.#timers.find((it) => it.at === due)!;
      this.#timers = this.#timers.filter((it) => it !== timer);
      timer.wake();
      await turns(8);
    }
    this.#now = until;
    await turns(8);
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

export async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

/** Waits, turn by turn, until the claim holds; fails after ten seconds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const began = Date.now();
  while (!(await holds())) {
    if (Date.now() - began > 10_000) throw new Error(`it never came about: ${what}`);
    await turn();
  }
}
