// One reader of one session: it is told everything in order, or one reset, never a gap.
//
//   O1  After its baseline a watch delivers every later entry once, in order, and nothing before it is durable.
//   O2  A reader that falls behind costs no memory: it is caught up from the log, or gets one reset when it is more
//       than 1,000 entries behind.
//   O3  A cursor of this epoch, at most 1,000 entries behind, is resumed exactly; any other gets a reset.

import type { Baseline } from "@lichen/wire";
import type { Frame, Sink, Subscription } from "../api.ts";

const resumable = 1_000;
/** Entries read at first; while the reader takes them all, twice as many each time. */
const firstPage = 4;
const largestPage = 128;

/** How a watcher reads the log when it has to. */
export interface WatchSource {
  readonly epoch: string;
  head(): number;
  baseline(): Baseline;
  entriesAfter(seq: number, limit: number): Numbered[];
  /** What streams now, as a frame. */
  partial(): Frame | undefined;
  /** Settles when what can be read now is durable; undefined where it is. */
  durable(): Promise<void> | undefined;
  report(error: unknown): void;
}

export type EntryFrame = Extract<Frame, { type: "entry" }>;

/** An entry, and its number among the session's events where it has one. */
export type Numbered = Pick<EntryFrame, "data" | "n">;

export class Watcher implements Subscription {
  readonly #sink: Sink<Frame>;
  readonly #source: WatchSource;
  readonly #leave: () => void;
  /** The last entry delivered. */
  #seq = 0;
  /** The last entry known to be durable: what may be delivered. */
  #durable = 0;
  /** Frames are held back: before the first one, while a baseline becomes durable, and while the reader is full. */
  #isBehind = true;
  #isStarting = true;
  #isClosed = false;
  /** What was shown last of what streams: a reader that takes one frame at a time gets each of them once. */
  #shown: Frame["data"] | undefined;

  constructor(sink: Sink<Frame>, source: WatchSource, leave: () => void) {
    this.#sink = sink;
    this.#source = source;
    this.#leave = leave;
  }

  /** Delivers the first frames: a baseline, or straight to entries after a cursor that can be resumed. */
  begin(after: string | undefined): void {
    const cursor = after === undefined ? undefined : parseCursor(after);
    const head = this.#source.head();
    const isResumable =
      cursor?.epoch === this.#source.epoch && cursor.seq <= head && head - cursor.seq <= resumable;
    if (!isResumable) {
      this.#rebase(after === undefined ? "baseline" : "reset");
      return;
    }
    this.#seq = cursor.seq;
    this.#onceDurable(() => {
      this.#durable = Math.max(this.#durable, head);
      this.#catchUp();
    });
  }

  /** Entries that are durable now, as frames shared by all watchers. */
  entries(frames: readonly EntryFrame[]): void {
    const last = frames.at(-1);
    if (this.#isClosed || !last) return;
    this.#durable = Math.max(this.#durable, last.data.seq);
    if (this.#isBehind) return;
    for (const frame of frames) {
      if (frame.data.seq <= this.#seq) continue;
      if (frame.data.seq !== this.#seq + 1) {
        this.#catchUp();
        return;
      }
      this.#seq = frame.data.seq;
      if (!this.#give(frame)) return;
    }
  }

  partial(frame: Frame): void {
    if (this.#isClosed || this.#isBehind) return;
    this.#shown = frame.data;
    this.#give(frame);
  }

  resume(): void {
    if (!this.#isClosed && this.#isBehind && !this.#isStarting) this.#catchUp();
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

  // Reads on from the log until the reader is even with what is durable, or takes no more.
  #catchUp(): void {
    this.#isBehind = true;
    if (this.#durable - this.#seq > resumable) {
      this.#rebase("reset");
      return;
    }
    for (let page = firstPage; this.#seq < this.#durable; page = Math.min(2 * page, largestPage)) {
      const most = Math.min(page, this.#durable - this.#seq);
      const entries = this.#source.entriesAfter(this.#seq, most);
      if (entries.length === 0) break;
      for (const entry of entries) {
        this.#seq = entry.data.seq;
        const id = cursorOf(this.#source.epoch, this.#seq);
        if (!this.#give({ type: "entry", id, ...entry })) return;
      }
    }
    this.#isBehind = false;
    const partial = this.#source.partial();
    if (!partial || partial.data === this.#shown) return;
    this.#shown = partial.data;
    this.#give(partial);
  }

  #rebase(type: "baseline" | "reset"): void {
    const data = this.#source.baseline();
    this.#onceDurable(() => {
      this.#seq = data.head;
      this.#durable = Math.max(this.#durable, data.head);
      if (this.#give({ type, id: cursorOf(data.epoch, data.head), data })) this.#catchUp();
    });
  }

  #onceDurable(deliver: () => void): void {
    this.#isBehind = true;
    this.#isStarting = true;
    const go = (): void => {
      this.#isStarting = false;
      if (!this.#isClosed) deliver();
    };
    const pending = this.#source.durable();
    // A sync that fails ends the process: there is nobody left to tell.
    if (pending) void pending.then(go, () => this.end("closed"));
    else go();
  }

  /** A sink that throws is left: it must not keep the others from their frames. */
  #give(frame: Frame): boolean {
    if (this.#isClosed) return false;
    let keepsUp = false;
    try {
      keepsUp = this.#sink.frame(frame);
    } catch (error) {
      this.close();
      this.#source.report(error);
    }
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
