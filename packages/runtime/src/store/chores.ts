// Chores: work that follows the log in small slices, when nothing else waits (the search index, purging).

import { Fault } from "@lichen/wire";
import type { Ground } from "./ground.ts";

const restMs = 100;
const betweenMs = 2;
const afterTroubleMs = 5_000;

export class Chores {
  readonly #ground: Ground;
  readonly #slices: readonly (() => boolean)[];
  #timer: (() => void) | undefined;
  #isStopped = false;

  /** Each slice does a few milliseconds of work inside a transaction and answers whether there is more. */
  constructor(ground: Ground, slices: readonly (() => boolean)[]) {
    this.#ground = ground;
    this.#slices = slices;
  }

  /** Something was written: the chores come soon. */
  due(): void {
    if (!this.#timer) this.#arm(restMs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.();
  }

  #arm(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = this.#ground.platform.after(ms, () => void this.#work());
  }

  async #work(): Promise<void> {
    try {
      let isMore = false;
      for (const slice of this.#slices)
        isMore = (await this.#ground.writer.commit(() => slice())) || isMore;
      this.#timer = undefined;
      if (isMore) this.#arm(betweenMs);
    } catch (error) {
      this.#timer = undefined;
      if (this.#ground.writer.isLost || (Fault.is(error) && error.code === "stale")) return;
      this.#ground.platform.report(error);
      this.#arm(afterTroubleMs);
    }
  }
}
