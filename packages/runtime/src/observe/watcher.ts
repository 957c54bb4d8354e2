// One reader of one session: it is told everything in order, or one reset, never a gap.
//
//   O1  After its baseline a watch delivers every later entry once, in order.
//   O2  A reader that falls behind costs no memory: it is caught up from the log, or gets one reset when it is more
//       than 1,000 entries behind.
//   O3  A cursor of this epoch, at most 1,000 entries behind, is resumed exactly; any other gets a reset.

import type { Baseline, Entry, SessionInfo } from "@lichen/wire";
import type { Frame, Sink, Subscription } from "../api.ts";

export const resumable = 1_000;
const catchUpPage = 200;

/** How a watcher reads the log when it has to. */
export interface WatchSource {
  readonly epoch: string;
  head(): number;
  baseline(): Baseline;
  entriesAfter(seq: number, limit: number): Entry[];
}

export type EntryFrame = Extract<Frame, { type: "entry" }>;

export class Watcher implements Subscription {
  readonly #sink: Sink<Frame>;
  readonly #source: WatchSource;
  readonly #leave: () => void;
  /** The last entry delivered; undefined before the first frame. */
  #seq: number | undefined;
  #isBehind = true;
  #isClosed = false;
  #isDelivering = false;
  #partial: Frame | undefined;

  constructor(sink: Sink<Frame>, source: WatchSource, leave: () => void) {
    this.#sink = sink;
    this.#source = source;
    this.#leave = leave;
  }

  /** Delivers the first frames: a baseline, or straight to entries after a cursor that can be resumed. */
  begin(after: string | undefined): void {
    const cursor = after === undefined ? undefined : parseCursor(after);
    const head = this.#source.head();
    if (
      cursor?.epoch === this.#source.epoch &&
      cursor.seq <= head &&
      head - cursor.seq <= resumable
    ) {
      this.#seq = cursor.seq;
      this.#catchUp();
      return;
    }
    this.#rebase(after === undefined ? "baseline" : "reset");
    if (this.#isBehind) return;
    this.#catchUp();
  }

  /** Entries that are durable now, as frames shared by all watchers. */
  entries(frames: readonly EntryFrame[], _info: SessionInfo): void {
    if (this.#isClosed || this.#isBehind || this.#seq === undefined) return;
    for (const frame of frames) {
      if (frame.data.seq <= this.#seq) continue;
      if (frame.data.seq !== this.#seq + 1) {
        // Published out of turn: the log has what lies between.
        this.#catchUp();
        return;
      }
      this.#seq = frame.data.seq;
      if (!this.#give(frame)) return;
    }
  }

  partial(frame: Frame): void {
    if (this.#isClosed) return;
    if (this.#isBehind) this.#partial = frame;
    else this.#give(frame);
  }

  resume(): void {
    if (this.#isClosed || !this.#isBehind || this.#isDelivering || this.#seq === undefined) return;
    this.#catchUp();
    const partial = this.#partial;
    this.#partial = undefined;
    if (partial && !this.#isBehind) this.#give(partial);
  }

  end(reason: "deleted" | "closed"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sink.end(reason);
  }

  close(): void {
    this.#isClosed = true;
    this.#leave();
  }

  // Reads on from the log until the reader is even with it or takes no more.
  #catchUp(): void {
    this.#isDelivering = true;
    this.#isBehind = true;
    try {
      if (this.#source.head() - this.#seq! > resumable) {
        this.#rebase("reset");
        if (this.#isBehind) return;
      }
      for (;;) {
        if (this.#isClosed) return;
        const entries = this.#source.entriesAfter(this.#seq!, catchUpPage);
        if (entries.length === 0) {
          this.#isBehind = false;
          return;
        }
        for (const data of entries) {
          this.#seq = data.seq;
          if (!this.#give({ type: "entry", id: cursorOf(this.#source.epoch, data.seq), data }))
            return;
        }
      }
    } finally {
      this.#isDelivering = false;
    }
  }

  #rebase(type: "baseline" | "reset"): void {
    const data = this.#source.baseline();
    this.#seq = data.head;
    this.#partial = undefined;
    this.#isBehind = false;
    this.#give({ type, id: cursorOf(data.epoch, data.head), data });
  }

  #give(frame: Frame): boolean {
    const keepsUp = this.#sink.frame(frame);
    if (!keepsUp) this.#isBehind = true;
    return keepsUp;
  }
}

export function cursorOf(epoch: string, seq: number): string {
  return `${epoch}.${seq}`;
}

export function parseCursor(cursor: string): { epoch: string; seq: number } | undefined {
  const match = /^([0-9a-z]+)\.([0-9]{1,10})$/.exec(cursor);
  return match ? { epoch: match[1]!, seq: Number(match[2]) } : undefined;
}
