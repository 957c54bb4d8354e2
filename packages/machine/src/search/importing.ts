// Brings what was said before into the index, in the background: one transcript after the other, in small steps, and
// from where it was when the machine went down.
//
//   AD30 A transcript is imported once, up to where it was when its session began to continue it.
//   AD57 No step of it keeps the machine from anything else for long: one line, or what a few milliseconds come to.

import type { Platform } from "@lichen/runtime";
import { type Line, linesBetween } from "../conversations/transcript-file.ts";
import { type Turn, turnOf } from "../conversations/transcript.ts";
import { rootAround } from "../conversations/transcripts.ts";
import type { EarlierTurns, Open } from "./earlier.ts";

/** Longer ones hold pictures and results of tools. */
const longestLine = 4_194_304;
const stepMs = 8;
const stepUnits = 32_768;

export class Importing {
  readonly #turns: EarlierTurns;
  readonly #platform: Pick<Platform, "soon" | "report">;
  readonly #gone = new Set<string>();
  #working: Promise<void> | undefined;
  /** Something may be left that the work under way does not know of. */
  #isAsked = false;
  #isClosed = false;

  constructor(turns: EarlierTurns, platform: Pick<Platform, "soon" | "report">) {
    this.#turns = turns;
    this.#platform = platform;
  }

  /** Imports what is left. */
  start(): void {
    if (this.#isClosed) return;
    this.#isAsked = true;
    this.#working ??= this.#pause().then(() => this.#workWhileAsked());
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

  async #workWhileAsked(): Promise<void> {
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false;
      try {
        await this.#work();
      } catch (error) {
        this.#platform.report(error);
      }
    }
    this.#working = undefined;
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
    const transcript = { file, root: rootAround(file) };
    for await (const lines of linesBetween(transcript, span))
      for (const { turns, next } of stepsOf(lines, (line) => turnOf(harness, line))) {
        if (isOver()) return;
        this.#turns.add(agent, turns, next);
        await this.#pause();
        if (isOver()) return;
      }
    // What is left is torn, or the file is shorter than it was.
    if (!isOver()) this.#turns.add(agent, [], bytes);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#platform.soon(resolve));
  }
}

interface Step {
  readonly turns: readonly Turn[];
  /** Where what comes after them begins. */
  readonly next: number;
}

/** The turns of lines, as many at once as a step may take. */
function* stepsOf(
  lines: readonly Line[],
  read: (line: string) => Turn | undefined,
): Generator<Step> {
  let turns: Turn[] = [];
  let units = 0;
  let began = performance.now();
  for (const [index, { text, next }] of lines.entries()) {
    const turn = read(text);
    if (turn) turns.push(turn);
    units += turn?.text.length ?? 0;
    const isLast = index === lines.length - 1;
    const isLong = (lines[index + 1]?.text.length ?? 0) > stepUnits;
    if (!isLast && !isLong && units < stepUnits && performance.now() - began < stepMs) continue;
    yield { turns, next };
    turns = [];
    units = 0;
    began = performance.now();
  }
}
