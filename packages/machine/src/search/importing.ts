// Brings what was said before into the index, in the background: one transcript after the other, in small pieces, and
// from where it was when the machine went down.
//
//   AD30 A transcript is imported once, up to where it was when its session began to continue it.

import type { Platform } from "@lichen/runtime";
import { linesBetween } from "../conversations/transcript-file.ts";
import { turnOf } from "../conversations/transcript.ts";
import type { EarlierTurns, Open } from "./earlier.ts";

/** Longer ones hold pictures and results of tools. */
const longestLine = 4_194_304;

export class Importing {
  readonly #turns: EarlierTurns;
  readonly #platform: Pick<Platform, "soon" | "report">;
  readonly #gone = new Set<string>();
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(turns: EarlierTurns, platform: Pick<Platform, "soon" | "report">) {
    this.#turns = turns;
    this.#platform = platform;
  }

  /** Imports what is left, where it is not at that already. */
  start(): void {
    this.#working ??= this.#work()
      .catch((error: unknown) => this.#platform.report(error))
      .finally(() => {
        this.#working = undefined;
      });
  }

  /** Forgets what an agent that is gone had. */
  forget(agent: string): void {
    this.#gone.add(agent);
    this.start();
  }

  /** Settles when nothing is left to do, or it was closed. */
  async done(): Promise<void> {
    while (this.#working) await this.#working;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.done();
  }

  async #work(): Promise<void> {
    for (;;) {
      for (const agent of this.#gone) {
        while (!this.#isClosed && this.#turns.dropSlice(agent)) await this.#pause();
        if (this.#isClosed) return;
        this.#gone.delete(agent);
      }
      const [next] = this.#turns.open();
      if (!next || this.#isClosed) return;
      await this.#import(next);
    }
  }

  async #import({ agent, harness, file, bytes, done }: Open): Promise<void> {
    const isOver = (): boolean => this.#isClosed || this.#gone.has(agent);
    const span = { from: done, to: bytes, longest: longestLine };
    for await (const { lines, next } of linesBetween(file, span)) {
      const turns = lines.flatMap((line) => turnOf(harness, line) ?? []);
      if (isOver()) return;
      this.#turns.add(agent, turns, next);
      await this.#pause();
    }
    // What is left is torn, or the file is shorter than it was.
    if (!isOver()) this.#turns.add(agent, [], bytes);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#platform.soon(resolve));
  }
}
