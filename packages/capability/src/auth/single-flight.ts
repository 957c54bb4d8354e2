// Work that many ask for at the same time and that runs once for all of them. Its result is kept for nobody who asks later.

export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * Joins the work that runs under `key`, or starts it. An aborted signal ends the waiting of its caller and not the
   * work, which others may wait for: `work` brings its own end.
   */
  async run(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    let running = this.#running.get(key);
    if (!running) {
      running = started(work);
      this.#running.set(key, running);
      const over = (): void => void this.#running.delete(key);
      running.then(over, over);
    }
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([running, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Settles when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values());
  }
}

/** A throw before the first await is a rejection like any other. */
async function started<T>(work: () => Promise<T>): Promise<T> {
  return work();
}
