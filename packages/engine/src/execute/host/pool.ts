// The threads that sandboxes live in: each is lent to one program at a time, and ends when nobody wants it for a while.
//
//   A thread that was lent keeps the process alive; a spare one does not.
//   A thread that failed, or did not stop when it was told to, is ended and never lent again.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { bridgeSource } from "../bridge.ts";
import type { FromSandbox, SandboxData, ToSandbox } from "../protocol.ts";

// The types of Workers, which cannot compile, stand for those of Node here.
declare global {
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<Module>;
  }
}

export interface PoolOptions {
  readonly limits: SandboxData["limits"];
  /** How many spare threads are kept ready. */
  readonly spares: number;
  /** How long they are. */
  readonly idleMs: number;
}

interface Compiled {
  readonly module: WebAssembly.Module;
  /** SHA-256 of the engine and of the bridge in it: a snapshot fits no other. */
  readonly engine: string;
}

/** What a thread says of its program. */
export type Said = Exclude<FromSandbox, { readonly type: "ready" }>;

/** A thread in the hands of one program. */
export class Seat {
  readonly engine: string;
  readonly #worker: Worker;
  readonly #stop: Int32Array<SharedArrayBuffer>;
  readonly #sent: Int32Array<SharedArrayBuffer>;
  #isDead = false;
  /** Settles when programs can be run here; rejects where that will never be. */
  readonly ready: Promise<void>;
  /** Takes what the sandbox says. */
  onMessage: (message: Said) => void = ignore;
  /** Told once when the thread ends without being asked to. */
  onDeath: () => void = ignore;

  constructor(compiled: Compiled, limits: SandboxData["limits"]) {
    this.engine = compiled.engine;
    this.#stop = new Int32Array(new SharedArrayBuffer(4));
    this.#sent = new Int32Array(new SharedArrayBuffer(4));
    const { module } = compiled;
    const data: SandboxData = { module, limits, stop: this.#stop, sent: this.#sent };
    this.#worker = new Worker(join(import.meta.dirname, "sandbox-worker.ts"), {
      workerData: data,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 8 },
      stderr: true,
      stdout: true,
    });
    this.#worker.unref();
    const ready = Promise.withResolvers<void>();
    this.ready = ready.promise;
    // Whoever waits for it hears of it; nobody else need.
    this.ready.catch(ignore);
    this.#worker.on("message", (message: FromSandbox) => {
      if (message.type === "ready") ready.resolve();
      else this.onMessage(message);
    });
    const died = () => {
      ready.reject(new Error("A sandbox's thread could not be started."));
      if (this.#isDead) return;
      this.#isDead = true;
      this.onDeath();
    };
    this.#worker.on("error", died);
    this.#worker.on("exit", died);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  post(message: ToSandbox): void {
    this.#worker.postMessage(message);
    Atomics.add(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
  }

  /** Tells the guest to stop where it is. */
  interrupt(): void {
    Atomics.store(this.#stop, 0, 1);
  }

  hold(): void {
    this.#worker.ref();
  }

  letGo(): void {
    this.onMessage = ignore;
    this.onDeath = ignore;
    Atomics.store(this.#stop, 0, 0);
    this.#worker.unref();
  }

  async end(): Promise<void> {
    this.#isDead = true;
    await this.#worker.terminate();
  }
}

export interface Seats {
  /** The next free sandbox, in turn; rejects when `signal` aborts. */
  take(signal: AbortSignal): Promise<Seat>;
  giveBack(seat: Seat, isSound: boolean): void;
}

export class Pool {
  readonly #options: PoolOptions;
  #compiled: Promise<Compiled> | undefined;
  readonly #spares: { readonly seat: Seat; readonly timer: NodeJS.Timeout }[] = [];
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async compiled(): Promise<Compiled> {
    this.#compiled ??= compile();
    return this.#compiled;
  }

  async lend(): Promise<Seat> {
    const compiled = await this.compiled();
    let seat: Seat | undefined;
    while (!seat && this.#spares.length > 0) {
      const spare = this.#spares.pop();
      clearTimeout(spare?.timer);
      if (spare && !spare.seat.isDead) seat = spare.seat;
    }
    seat ??= new Seat(compiled, this.#options.limits);
    seat.hold();
    await seat.ready;
    return seat;
  }

  /** Takes a thread back; one that is not `isSound` is ended. */
  giveBack(seat: Seat, isSound: boolean): void {
    seat.letGo();
    if (seat.isDead) return;
    if (!isSound || this.#isClosed) return this.#end(seat);
    seat.post({ type: "end" });
    this.#keep(seat);
  }

  /** Threads that are ready before a program wants them. */
  async warm(): Promise<void> {
    const compiled = await this.compiled();
    while (!this.#isClosed && this.#spares.length < this.#options.spares) {
      const seat = new Seat(compiled, this.#options.limits);
      seat.hold();
      await seat.ready;
      seat.letGo();
      this.#keep(seat);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { seat, timer } of this.#spares.splice(0)) {
      clearTimeout(timer);
      this.#end(seat);
    }
    await Promise.all(this.#ending);
  }

  #keep(seat: Seat): void {
    if (this.#isClosed || this.#spares.length >= this.#options.spares) return this.#end(seat);
    const timer = setTimeout(() => {
      const at = this.#spares.findIndex((spare) => spare.seat === seat);
      if (at >= 0) this.#spares.splice(at, 1);
      this.#end(seat);
    }, this.#options.idleMs);
    timer.unref();
    this.#spares.push({ seat, timer });
  }

  #end(seat: Seat): void {
    const ended = seat.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

async function compile(): Promise<Compiled> {
  const bytes = await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const engine = createHash("sha256").update(bytes).update(bridgeSource).digest("hex");
  return { module: await WebAssembly.compile(bytes), engine };
}

function ignore(): void {}
