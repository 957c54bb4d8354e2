// What a run streams now and has not stored.
//
//   O4  It is shown no more once the message that holds it is committed; what streams after that message is shown only
//       once it was told. So nobody is shown a message twice: as it is stored and as it still streams.

import type { Partial } from "@lichen/wire";
import type { Tx } from "../store/writer.ts";

/** What an engine hands in. */
export type Streamed = Omit<Partial, "commandId" | "after">;

export class Streaming {
  readonly #commandId: string;
  readonly #changed: () => void;
  #partial: Partial | undefined;
  #isShown = false;
  /** Where the run stood in the log when it began, then its newest message. */
  #after: number;
  /** Messages that are committed and not told yet. */
  #untold = 0;
  /** The calls of the newest assistant message that have their outcome, by their place in it. */
  readonly #outcomes = new Set<number>();

  /** `after` is the head of the session; `changed` is called when there is something new to show. */
  constructor(commandId: string, after: number, changed: () => void) {
    this.#commandId = commandId;
    this.#after = after;
    this.#changed = changed;
  }

  get shown(): Partial | undefined {
    return this.#isShown && this.#untold === 0 ? this.#partial : undefined;
  }

  /** The run's beginning is durable: what it streams may be seen. */
  show(): void {
    this.#isShown = true;
    this.#tell();
  }

  take(streamed: Streamed): void {
    const { tool } = streamed;
    // A tool may go on talking after it has ended.
    if (tool?.output !== undefined && this.#outcomes.has(tool.index)) return;
    this.#partial = { ...streamed, commandId: this.#commandId, after: this.#after };
    this.#tell();
  }

  /** A message of the run is written in `tx`: an assistant's, or the outcome of the call at `index`. */
  stored(tx: Tx, seq: number, index?: number): void {
    tx.committed(() => {
      const partial = this.#partial;
      const isStored = index === undefined || partial?.tool?.index === index;
      this.#partial = partial && !isStored ? { ...partial, after: seq } : undefined;
      if (index === undefined) this.#outcomes.clear();
      else this.#outcomes.add(index);
      this.#after = seq;
      this.#untold++;
    });
    // Sealed, so that the message is told first.
    tx.seal(() =>
      tx.after(() => {
        this.#untold--;
        this.#tell();
      }),
    );
  }

  #tell(): void {
    if (this.shown) this.#changed();
  }
}
