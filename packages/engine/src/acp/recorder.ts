// Writes what a turn says, in its order, in as few transactions as its speed allows.
//
//   - A draft is written after all that came before it, also after the outcome of a call that ended before it.
//   - A write that failed stops the run; what follows it is not tried.

import type { Draft, Run } from "@lichen/runtime";
import type { EntryOf } from "@lichen/wire";

type Written = EntryOf<Draft["kind"]>;
type Step =
  | { readonly draft: Draft; readonly written: ((entry: Written) => void) | undefined }
  | { readonly after: Promise<unknown> };

export class Recorder {
  readonly #append: Run["append"];
  readonly #steps: Step[] = [];
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(append: Run["append"]) {
    this.#append = append;
  }

  /** Whether something is not durable yet. */
  get isBehind(): boolean {
    return this.#writing !== undefined;
  }

  record(draft: Draft, written?: (entry: Written) => void): void {
    this.#put({ draft, written });
  }

  /** What is recorded from now on waits for this; how it ends is its own affair. */
  wait(after: Promise<unknown>): void {
    this.#put({ after });
  }

  /** Settles when all of it is durable; rejects where it could not be written. */
  async durable(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#failure) throw this.#failure.error;
  }

  #put(step: Step): void {
    if (this.#failure) return;
    this.#steps.push(step);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(): Promise<void> {
    // What arrives in one turn of the loop is written together.
    await Promise.resolve();
    try {
      while (this.#steps.length > 0) await this.#writeSome();
    } catch (error) {
      this.#failure = { error };
      this.#steps.length = 0;
    }
  }

  async #writeSome(): Promise<void> {
    const [first] = this.#steps;
    if (first && "after" in first) {
      this.#steps.shift();
      await first.after.catch(() => {});
      return;
    }
    const end = this.#steps.findIndex((step) => "after" in step);
    const together = this.#steps
      .splice(0, end === -1 ? this.#steps.length : end)
      .filter((step) => "draft" in step);
    const entries = await this.#append(together.map((step) => step.draft));
    for (const [index, step] of together.entries()) step.written?.(entries[index]!);
  }
}
