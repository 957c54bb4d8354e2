// What an earlier process left of a run: what was sent to pi, what pi's transcript has of it, what is missing still.
//
//   PI13 What pi never read is missing; what it read, and what it may have run without a trace, is not.

import type { Run, Steer } from "@lichen/runtime";
import { type Json, type JsonObject, textOf } from "@lichen/wire";
import { isExtensionCommand } from "./commands.ts";
import type { PiConnection } from "./connection.ts";
import { type Found, foundIn, hasSpoken, type Place, placeIn } from "./recovery.ts";
import type { Words } from "./words.ts";

export interface Missing {
  /** What joined the run and may have to be said still, oldest first. */
  readonly steers: readonly Steer[];
  /** A command of an extension that joined an earlier process of it: whether that ran stands nowhere. */
  readonly mayHaveRun?: string;
}

export class Earlier {
  readonly #pi: PiConnection;
  readonly #run: Run;
  readonly #words: Words;
  #logged: readonly Json[] | undefined;

  constructor(pi: PiConnection, run: Run, words: Words) {
    this.#pi = pi;
    this.#run = run;
    this.#words = words;
  }

  /** Where pi stood before the newest prompt of the run; undefined where none was sent. */
  get place(): Place | undefined {
    return placeIn(this.#lines);
  }

  /** What became of the prompt; undefined where none was sent. */
  async found(): Promise<Found | undefined> {
    const logged = this.#lines;
    const { place } = this;
    if (!place) return undefined;
    const file = this.#file;
    const entries = file && (await this.#pi.parts.files.entriesAfter(file, place.after));
    const isWritten = file !== undefined && this.#pi.parts.files.folder(file) !== undefined;
    // A conversation is written with its first answer; before that its places are nobody's.
    if (!entries) return isWritten || hasSpoken(logged) ? { how: "unclear" } : { how: "absent" };
    const steers = this.#words.steers.map(({ data }) => textOf(data.text));
    return foundIn(entries, logged, { prompt: this.#words.prompt, steers });
  }

  /** What pi wrote down of a compaction that was asked for. */
  async compaction(): Promise<JsonObject | undefined> {
    const { place } = this;
    const file = this.#file;
    if (!place || file === undefined) return undefined;
    const entries = await this.#pi.parts.files.entriesAfter(file, place.after);
    return entries?.findLast(({ type }) => type === "compaction");
  }

  /** What joined so far, and joins now. `unread`: all that the process before this one left, where that is known. */
  async missing(unread?: readonly string[]): Promise<Missing> {
    const before = this.#words.steers;
    const wasSent = this.place !== undefined;
    const left = unread && [...unread];
    // What joins from here on stands in the transcript with what joined before.
    await this.#run.steers();
    const joined = this.#words.steers.slice(before.length);
    const steers: Steer[] = [];
    let mayHaveRun: string | undefined;
    for (const steer of before) {
      const text = textOf(steer.data.text);
      if (left && !take(left, text)) continue;
      if (wasSent && (await this.isCommand(text))) mayHaveRun ??= text;
      else steers.push(steer);
    }
    return {
      steers: [...steers, ...joined],
      ...(mayHaveRun === undefined ? {} : { mayHaveRun }),
    };
  }

  isCommand(text: string): Promise<boolean> {
    return isExtensionCommand(text, { request: (command) => this.#pi.requests.ask(command) });
  }

  /** All that the run had recorded before: they may be many, so they are read once. */
  get #lines(): readonly Json[] {
    return (this.#logged ??= this.#run.lines());
  }

  get #file(): string | undefined {
    return this.#pi.host.harness().conversation?.file;
  }
}

/** Whether it was among them; it is no more. */
function take(texts: string[], text: string): boolean {
  const at = texts.indexOf(text);
  if (at !== -1) texts.splice(at, 1);
  return at !== -1;
}
