// Cuts what a harness writes into lines of JSON.
//
//   HK4  Lines are handed on in their order, up to 64 MiB each, whatever the chunks they came in.
//   HK5  A longer line is refused with a sentence, and what follows it is read.
//   HK6  Large lines are parsed in a thread of their own, so that they hold up nobody else's.

import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Json } from "@lichen/wire";

const longestLine = 64 * 1024 * 1024;
const parsedInline = 256 * 1024;
/** How long the thread stays without a large line. */
const idleMs = 10_000;

export interface LineHandler {
  /** One line's value. */
  line(value: Json): void;
  /** A line that is not JSON, cut at 1,000 characters. */
  noise?(text: string): void;
  /** Told of a line that is too long. */
  refused(reason: string): void;
}

interface Answer {
  readonly value?: Json;
  readonly isJson: boolean;
}

const lostThread = "the thread that reads it ended";

/** What stands in the order of the lines: a value, or the thread's answer that is still to come. */
interface Slot {
  isDone: boolean;
  deliver: () => void;
}

export class Lines {
  readonly #handler: LineHandler;
  #parts: Buffer[] = [];
  #length = 0;
  /** Why the line in hand is left out, where it is. */
  #whyLeftOut: string | undefined;
  /** The thread has what came of the line so far. */
  #isLarge = false;
  readonly #slots: Slot[] = [];
  #worker: Worker | undefined;
  /** Told the thread's answers, or that there is none. */
  readonly #asked: ((answer?: Answer) => void)[] = [];
  #idle: NodeJS.Timeout | undefined;
  #drained: (() => void)[] = [];

  constructor(handler: LineHandler) {
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      this.#close();
    }
    this.#keep(chunk.subarray(from));
  }

  /** Settles when all lines that came whole so far were handed on. */
  async handedOn(): Promise<void> {
    if (this.#slots.length > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** Nothing more comes: a last line without an end is read too. Settles once all were handed on. */
  async end(): Promise<void> {
    if (this.#length > 0) this.#close();
    await this.handedOn();
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#whyLeftOut !== undefined) {
      this.#length += part.length;
      return;
    }
    this.#length += part.length;
    if (this.#length > longestLine) this.#leaveOut(`at most ${longestLine} are read`);
    else if (this.#isLarge) this.#hand(part);
    else {
      this.#parts.push(part);
      if (this.#length > parsedInline) this.#enlarge();
    }
  }

  #leaveOut(why: string): void {
    this.#whyLeftOut = why;
    this.#parts = [];
    if (this.#isLarge) this.#worker?.postMessage("drop");
    this.#isLarge = false;
  }

  /** The line is read in the thread, which gets it as it comes: to copy all of it at once would take its time here. */
  #enlarge(): void {
    try {
      this.#thread();
    } catch {
      return this.#leaveOut("there is no room for a thread that reads it");
    }
    this.#isLarge = true;
    for (const part of this.#parts) this.#hand(part);
    this.#parts = [];
  }

  #hand(part: Buffer): void {
    const bytes = new Uint8Array(part);
    this.#thread().postMessage(bytes, [bytes.buffer]);
  }

  #close(): void {
    const [parts, length, why, isLarge] = [
      this.#parts,
      this.#length,
      this.#whyLeftOut,
      this.#isLarge,
    ];
    this.#parts = [];
    this.#length = 0;
    this.#whyLeftOut = undefined;
    this.#isLarge = false;
    if (length === 0) return;
    if (why !== undefined)
      return this.#put(() =>
        this.#handler.refused(`A line of ${length} bytes was left out: ${why}.`),
      );
    if (isLarge) this.#readLarge();
    else this.#read(Buffer.concat(parts, length).toString("utf8"));
  }

  #read(text: string): void {
    let value: Json;
    try {
      value = JSON.parse(text) as Json;
    } catch {
      if (text.trim() !== "") this.#put(() => this.#handler.noise?.(text.slice(0, 1_000).trim()));
      return;
    }
    this.#put(() => this.#handler.line(value));
  }

  #readLarge(): void {
    const slot: Slot = { isDone: false, deliver: () => {} };
    this.#slots.push(slot);
    this.#asked.push((answer) => {
      const { value, isJson } = answer ?? { isJson: false };
      if (!answer)
        slot.deliver = () => this.#handler.refused(`A long line was left out: ${lostThread}.`);
      else if (isJson) slot.deliver = () => this.#handler.line(value ?? null);
      else slot.deliver = () => this.#handler.noise?.("a long line that is not JSON");
      slot.isDone = true;
      this.#drain();
    });
    const thread = this.#thread();
    thread.ref();
    thread.postMessage("end");
  }

  #thread(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker) return this.#worker;
    const worker = new Worker(join(import.meta.dirname, "lines-worker.ts"), {
      env: {},
      execArgv: [],
    });
    worker.on("message", (answer: Answer) => {
      this.#asked.shift()?.(answer);
      if (this.#asked.length === 0) this.#rest();
    });
    // No memory, or no room to begin: what it had in hand is lost, and said so.
    worker.on("error", () => {
      if (this.#worker === worker) this.#worker = undefined;
      if (this.#isLarge) this.#leaveOut(lostThread);
      for (const answered of this.#asked.splice(0)) answered();
    });
    return (this.#worker = worker);
  }

  #rest(): void {
    this.#worker?.unref();
    this.#idle = setTimeout(() => {
      // It holds the beginning of a line whose rest is still to come.
      if (this.#isLarge) return;
      void this.#worker?.terminate();
      this.#worker = undefined;
    }, idleMs).unref();
  }

  #put(deliver: () => void): void {
    if (this.#slots.length === 0) return deliver();
    this.#slots.push({ isDone: true, deliver });
  }

  #drain(): void {
    while (this.#slots[0]?.isDone) this.#slots.shift()?.deliver();
    if (this.#slots.length === 0) for (const drained of this.#drained.splice(0)) drained();
  }
}
