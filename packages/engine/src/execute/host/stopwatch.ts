// Time that counts against a deadline: it runs while it is told to, and says once that it is used up.

export class Stopwatch {
  #leftMs: number;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #over: () => void;

  constructor(deadlineMs: number, over: () => void) {
    this.#leftMs = deadlineMs;
    this.#over = over;
  }

  run(): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, Math.max(0, this.#leftMs));
  }

  pause(): void {
    if (this.#since === undefined) return;
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#since;
    this.#since = undefined;
  }
}
