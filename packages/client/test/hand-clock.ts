// Time and chance that move when a test says so.

import type { ClientPlatform } from "../src/platform.ts";

export class HandClock implements ClientPlatform {
  #now = Date.UTC(2026, 0, 1);
  /** What `random` answers. */
  chance = 0;
  #ids = 0;
  readonly #timers = new Set<{ at: number; ms: number; wake: () => void }>();
  #set = Promise.withResolvers<number>();

  now = (): number => this.#now;
  random = (): number => this.chance;
  randomId = (): string => `id-${++this.#ids}`;

  after = (ms: number, wake: () => void): (() => void) => {
    const timer = { at: this.#now + ms, ms, wake };
    this.#timers.add(timer);
    this.#set.resolve(ms);
    this.#set = Promise.withResolvers();
    return () => void this.#timers.delete(timer);
  };

  /** How long the timers that are set were set for, shortest first. */
  get waits(): number[] {
    return [...this.#timers].map(({ ms }) => ms).sort((a, b) => a - b);
  }

  /** Settles once a timer of this length is set. */
  async waiting(ms: number): Promise<void> {
    while (!this.waits.includes(ms)) await this.#set.promise;
  }

  /** How long the next timer is that is set from now on. */
  armed(): Promise<number> {
    return this.#set.promise;
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers])
      if (timer.at <= this.#now && this.#timers.delete(timer)) timer.wake();
  }
}
