// One reader of a session's numbered events: everything after its number, once and in order, then what comes.
//
//   MA16  A reader that comes back with its number is told what came after it and nothing twice, from any distance.
//   MA17  A reader that is slow costs no memory and loses nothing; what streams is shown to it as far as it has come.
//   MA40  An event is written as its reader takes it, however long it is, and nothing comes between its pieces.
//
// Entries that come while it keeps up are passed on as they are; all else is read from the log in pages.

import type { Frame, Session, Subscription } from "@lichen/runtime";
import { type Entry, Fault, type Partial, replaces } from "@lichen/wire";
import type { Source, Stream } from "@lichen/server/door";
import { encodePartial, type EncodeOptions, eventPieces } from "./encode.ts";

export interface FeedOptions extends Omit<EncodeOptions, "read"> {
  readonly session: Session;
  readonly stream: Stream;
  readonly now: () => number;
  readonly report: (error: unknown) => void;
  /** The number after which the reader wants events. */
  readonly after: number;
  /** Where the session stood just before: events come from there on. */
  readonly at: { readonly epoch: string; readonly head: number; readonly events: number };
}

interface Numbered {
  readonly n: number;
  readonly entry: Entry;
}

const pageEvents = 100;
/** Entries that are kept for a reader that is busy with the one before. */
const keptEntries = 64;
const newline = 10;
const encoder = new TextEncoder();
const deleted = encoder.encode(": deleted\n\n");
const closed = encoder.encode(": closed\n\n");

export class Feed implements Source {
  readonly #options: FeedOptions;
  readonly #subscription: Subscription;
  /** The last event given to the reader, and the newest there is. */
  #given: number;
  #newest: number;
  /** What came live after `#given`, without a gap up to `#newest`; empty where the log has to be read. */
  #live: Numbered[] = [];
  #partial: Partial | undefined;
  /** What the reader has of the text that streams, and of which message that is. */
  #shown: { readonly after: number | undefined; readonly text: string } | undefined;
  #wake = Promise.withResolvers<void>();
  #room: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#given = options.after;
    this.#newest = options.at.events;
    const { session, at } = options;
    this.#subscription = session.observe(
      { frame: (frame) => this.#take(frame), end: (reason) => this.#end(reason) },
      { after: `${at.epoch}.${at.head}` },
    );
    void this.#run();
  }

  resume(): void {
    this.#room?.resolve();
  }

  close(): void {
    this.#isOver = true;
    this.#subscription.close();
    this.#room?.resolve();
    this.#wake.resolve();
  }

  drain(): void {
    this.close();
    this.#farewell(closed);
  }

  #end(reason: "deleted" | "closed"): void {
    if (this.#isOver) return;
    this.close();
    this.#farewell(reason === "deleted" ? deleted : closed);
    this.#options.stream.end();
  }

  /** In the middle of an event there is no word for it: half of one is none to its reader. */
  #farewell(words: Uint8Array): void {
    const { stream } = this.#options;
    if (!stream.isAmid) stream.write(words);
  }

  #take(frame: Frame): boolean {
    switch (frame.type) {
      case "entry":
        // What streamed grew into a message.
        if (this.#partial && replaces(frame.data, this.#partial)) this.#partial = undefined;
        if (frame.n !== undefined) this.#note({ n: frame.n, entry: frame.data });
        break;
      case "partial":
        this.#partial = frame.data;
        break;
      case "baseline":
      case "reset":
        this.#live = [];
        this.#newest = frame.data.session.events ?? this.#newest;
        break;
      case "state":
        return true;
    }
    this.#wake.resolve();
    return true;
  }

  #note(numbered: Numbered): void {
    const isNext = this.#given + this.#live.length === this.#newest;
    this.#newest = numbered.n;
    if (isNext && this.#live.length < keptEntries) this.#live.push(numbered);
    else this.#live = [];
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isOver) {
        if (this.#given < this.#newest) await this.#giveNext();
        else if (this.#partial) await this.#show(this.#partial);
        else await this.#slept();
      }
    } catch (error) {
      if (!Fault.is(error)) this.#options.report(error);
      this.#end("closed");
    }
  }

  async #slept(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers();
  }

  async #giveNext(): Promise<void> {
    const next = this.#live.shift();
    if (next) return this.#give(next);
    const { session } = this.#options;
    const { events, last } = await session.events({ after: this.#given, limit: pageEvents });
    // Nothing where there should be something: the session was begun anew meanwhile, and says so by its end.
    if (events.length === 0) this.#newest = Math.min(last, this.#given);
    for (const event of events) if (!this.#isOver) await this.#give(event);
  }

  /** Writes an event piece by piece as its reader takes it; nothing else is written meanwhile. */
  async #give({ n, entry }: Numbered): Promise<void> {
    const { session, stream, ...options } = this.#options;
    const read = (sha256: string, part: number) => session.blobPart(sha256, part);
    this.#given = n;
    for await (const piece of eventPieces(n, entry, { ...options, read })) {
      // Only its last piece ends a line.
      stream.isAmid = piece.at(-1) !== newline;
      await this.#write(piece);
      if (this.#isOver) return;
    }
  }

  /** Of a text that streams, the reader gets what it does not have yet. */
  async #show(partial: Partial): Promise<void> {
    this.#partial = undefined;
    const { after, text } = partial;
    // What streams beside the text (a tool, a thought) leaves the text as it was.
    if (text === undefined) return;
    const shown = this.#shown;
    const had = shown && shown.after === after && text.startsWith(shown.text) ? shown.text : "";
    this.#shown = { after, text };
    if (text.length === had.length) return;
    await this.#write(
      encodePartial(text.slice(had.length), { seq: this.#given, at: this.#options.now() }),
    );
  }

  /** Writes, and waits until the reader has room again. */
  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver || this.#options.stream.write(bytes)) return;
    this.#room = Promise.withResolvers();
    await this.#room.promise;
    this.#room = undefined;
  }
}
