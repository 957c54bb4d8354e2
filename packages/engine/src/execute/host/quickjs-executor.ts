// The sandbox executor on Node: QuickJS as WebAssembly, in threads that are lent to one program at a time.
//
//   So many programs run at once as `concurrent` says; the others wait in turn, and so many as `queued` may. A program
//   that waits for people, and whose snapshot is kept, is not one of them.

import { randomBytes } from "node:crypto";
import type {
  Bindings,
  ExecuteOptions,
  Execution,
  SandboxExecutor,
} from "@lichen/capability/execute";
import { type Limits, limits as usual } from "../limits.ts";
import { Pool, type Seat, type Seats } from "./pool.ts";
import { Run } from "./run.ts";

export interface QuickJsExecutorOptions {
  /** The guest's clock where there is no journal, in ms. */
  readonly now?: () => number;
  /** 32 bytes as hex, for randomness in the guest where there is no journal. */
  readonly seed?: () => string;
  /** How many threads wait for a program: 2. */
  readonly spares?: number;
  /** How long a thread waits before it ends: 60,000 ms. */
  readonly idleMs?: number;
  readonly limits?: Partial<Limits>;
}

export interface QuickJsExecutor extends SandboxExecutor {
  /** Makes the spare threads ready, which else the first programs wait for. */
  warm(): Promise<void>;
  /** SHA-256 of the engine that snapshots belong to, as hex. */
  engine(): Promise<string>;
  /** Stops what runs, and ends all threads. */
  close(): Promise<void>;
}

export function createQuickJsExecutor(options: QuickJsExecutorOptions = {}): QuickJsExecutor {
  const limits: Limits = { ...usual, ...options.limits };
  const pool = new Pool({ limits, spares: options.spares ?? 2, idleMs: options.idleMs ?? 60_000 });
  const seats = new Places(pool, limits);
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const now = options.now ?? Date.now;
  const seed = options.seed ?? (() => randomBytes(32).toString("hex"));

  async function execute(
    code: string,
    bindings: Bindings,
    asked: ExecuteOptions = {},
  ): Promise<Execution> {
    const { deadlineMs = limits.deadlineMs } = asked;
    if (!(deadlineMs > 0 && deadlineMs <= limits.longestDeadlineMs))
      throw new RangeError(
        `deadlineMs is from 1 to ${limits.longestDeadlineMs}, not ${deadlineMs}.`,
      );
    for (const name of Object.keys(bindings)) {
      if (!/^[A-Za-z_$][\w$]*$/.test(name) || reserved.has(name))
        throw new RangeError(`A namespace of a program cannot be named ${name}: choose another.`);
    }
    if (Buffer.byteLength(code) > limits.codeBytes)
      return refused(`The code is larger than ${limits.codeBytes / 1_024} KiB: write less.`);
    if (seats.isFull)
      return refused("Too many programs wait for their turn already: try again later.");
    closing.signal.throwIfAborted();
    const signal = asked.signal ? AbortSignal.any([asked.signal, closing.signal]) : closing.signal;
    const run = new Run({
      code,
      bindings,
      options: { ...asked, deadlineMs, signal },
      limits,
      seats,
      seed: seed(),
      now,
    }).settle();
    running.add(run);
    try {
      return await run;
    } finally {
      running.delete(run);
    }
  }

  return {
    execute,
    warm: () => pool.warm(),
    engine: async () => (await pool.compiled()).engine,
    async close() {
      closing.abort(new Error("The executor is closed."));
      await Promise.allSettled(running);
      await pool.close();
    },
  };
}

/** The places for programs, in turn. */
class Places implements Seats {
  readonly #pool: Pool;
  readonly #limits: Limits;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(pool: Pool, limits: Limits) {
    this.#pool = pool;
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#limits.queued;
  }

  async take(signal: AbortSignal): Promise<Seat> {
    if (this.#taken < this.#limits.concurrent) this.#taken++;
    else await this.#turn(signal);
    try {
      return await this.#pool.lend();
    } catch (error) {
      this.#next();
      throw error;
    }
  }

  giveBack(seat: Seat, isSound: boolean): void {
    this.#pool.giveBack(seat, isSound);
    this.#next();
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const gaveUp = () => {
      const at = this.#waiting.indexOf(resolve);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    this.#waiting.push(resolve);
    signal.addEventListener("abort", gaveUp, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", gaveUp);
    }
  }

  /** A free place goes to who waits longest. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken--;
  }
}

/** What code expects to mean something else. */
const reserved = new Set([
  ...[
    "arguments",
    "async",
    "await",
    "console",
    "crypto",
    "eval",
    "globalThis",
    "let",
    "performance",
  ],
  ...["undefined", "NaN", "Infinity", "static", "yield", "queueMicrotask", "escape", "unescape"],
  ...[
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
  ],
  ...["else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "import"],
  ...["in", "instanceof", "new", "null", "return", "super", "switch", "this", "throw", "true"],
  ...["try", "typeof", "var", "void", "while", "with", "implements", "interface", "package"],
  ...["private", "protected", "public", "atob", "btoa", "isNaN", "isFinite", "parseInt"],
  ...["parseFloat", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent"],
  ...["Object", "Function", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError"],
  ...["TypeError", "URIError", "InternalError", "AggregateError", "SuppressedError", "Iterator"],
  ...["Array", "Number", "Boolean", "String", "Math", "Reflect", "Symbol", "DisposableStack"],
  ...["BigInt", "Date", "RegExp", "JSON", "Proxy", "Map", "Set", "WeakMap", "WeakSet"],
  ...["ArrayBuffer", "DataView", "Promise", "AsyncDisposableStack", "DOMException"],
]);

function refused(message: string): Execution {
  return { result: { ok: false, reason: "limit", message }, printed: "", calls: 0 };
}
