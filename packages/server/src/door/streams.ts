// Event streams on their way out: one door's open streams, their heartbeat, and their end.
//
//   A frame is encoded once, however many streams carry it.
//   A stream whose reader falls behind says so to its source, and asks again when there is room.
//   Every stream ends: with its reader, with its source, or with the door.

import type { Platform, Sink, Subscription } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { guardedHeaders } from "./answer.ts";

const beatMs = 20_000;
/** What a stream holds for its reader before it tells its source to wait. */
const bufferBytes = 262_144;

const encoder = new TextEncoder();
const farewell = {
  deleted: encoder.encode(": deleted\n\n"),
  closed: encoder.encode(": closed\n\n"),
};

const streamHeaders = {
  ...guardedHeaders,
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** What crosses a stream: a frame of a session or of the host. */
interface StreamFrame {
  readonly type: string;
  readonly id?: string;
  readonly data: unknown;
}

/** What a stream asks of its source. */
export interface Source {
  /** There is room again. */
  resume(): void;
  /** The reader left. */
  close(): void;
  /** The door closes: last bytes may be written to the stream, which is ended after. */
  drain(): void;
}

export class Streams {
  readonly #after: Platform["after"];
  readonly #ping: Uint8Array;
  readonly #open = new Set<Stream>();
  readonly #encoded = new WeakMap<object, Uint8Array>();
  #stopBeat: (() => void) | undefined;
  readonly #drained = new AbortController();

  /** `beat` is the comment that shows each idle reader that its stream lives. */
  constructor(after: Platform["after"], { beat = "ping" }: { beat?: string } = {}) {
    this.#after = after;
    this.#ping = encoder.encode(`: ${beat}\n\n`);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Aborts when the door closes: for answers that wait. */
  get drained(): AbortSignal {
    return this.#drained.signal;
  }

  /** A stream that its source is yet to be connected to. Nothing of it is kept until then. */
  create(): Stream {
    return new Stream(this.#open);
  }

  /** Connects a stream with what feeds it, and answers the request with it. */
  answer(stream: Stream, source: Source): Response {
    stream.connect(source);
    if (this.drained.aborted) {
      stream.drain();
      throw new Fault("unavailable", "The host is going down: try again when it is back.");
    }
    this.#stopBeat ??= this.#after(beatMs, () => this.#beat());
    return new Response(stream.readable, { headers: streamHeaders });
  }

  /** Answers with the frames of a watch. `observe` may throw: then there is no stream. */
  watch<F extends StreamFrame>(observe: (sink: Sink<F>) => Subscription): Response {
    const stream = this.create();
    const subscription = observe({
      frame: (frame) => stream.write(this.#encode(frame)),
      end: (reason) => {
        stream.write(farewell[reason]);
        stream.end();
      },
    });
    return this.answer(stream, {
      resume: () => subscription.resume(),
      close: () => subscription.close(),
      drain: () => {
        subscription.close();
        stream.write(farewell.closed);
      },
    });
  }

  /** Ends every stream, and lets no other begin. */
  drain(): void {
    this.#drained.abort();
    this.#stopBeat?.();
    for (const stream of [...this.#open]) stream.drain();
  }

  #beat(): void {
    for (const stream of this.#open) if (stream.isIdle) stream.write(this.#ping);
    this.#stopBeat =
      this.#open.size > 0 && !this.drained.aborted
        ? this.#after(beatMs, () => this.#beat())
        : undefined;
  }

  #encode(frame: StreamFrame): Uint8Array {
    let bytes = this.#encoded.get(frame);
    if (bytes === undefined) {
      const id = frame.id === undefined ? "" : `id: ${frame.id}\n`;
      bytes = encoder.encode(`event: ${frame.type}\n${id}data: ${JSON.stringify(frame.data)}\n\n`);
      this.#encoded.set(frame, bytes);
    }
    return bytes;
  }
}

/** One response body that is written to as things happen. */
export class Stream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #all: Set<Stream>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #source: Source | undefined;
  #isBehind = false;
  /** The source is in the middle of an event, which nothing else may stand in. */
  isAmid = false;

  constructor(all: Set<Stream>) {
    this.#all = all;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          if (!this.#isBehind) return;
          this.#isBehind = false;
          this.#source?.resume();
        },
        cancel: () => {
          this.#forget()?.close();
        },
      },
      { highWaterMark: bufferBytes, size: (bytes) => bytes.length },
    );
  }

  /** Whether a heartbeat may be written: its reader keeps up, and no event is under way. */
  get isIdle(): boolean {
    return !this.#isBehind && !this.isAmid;
  }

  connect(source: Source): void {
    // The source may have come to its end before the answer began: the bytes are there, nothing more will come.
    if (!this.#controller) return;
    this.#source = source;
    this.#all.add(this);
  }

  /** Takes bytes; answers whether there is room for more. Bytes for a stream that ended are dropped. */
  write(bytes: Uint8Array): boolean {
    const controller = this.#controller;
    if (!controller) return true;
    controller.enqueue(bytes);
    if ((controller.desiredSize ?? 1) > 0) return true;
    this.#isBehind = true;
    return false;
  }

  end(): void {
    const controller = this.#controller;
    this.#forget();
    controller?.close();
  }

  drain(): void {
    this.#source?.drain();
    this.end();
  }

  #forget(): Source | undefined {
    const source = this.#source;
    this.#source = undefined;
    this.#controller = undefined;
    this.#all.delete(this);
    return source;
  }
}
