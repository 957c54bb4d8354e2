// Checkpoints: the WAL's frames are copied into the database off the loop, and the WAL begins anew before it is large.
//
//   A worker thread copies (PASSIVE) whenever 4 MiB of new frames stand in the WAL. It is started at the first need
//   and keeps no process alive.
//   Under a writer that never pauses a PASSIVE checkpoint never reaches the WAL's end, so above 64 MiB, or after a
//   while without syncs, the owner does one RESTART: by then little is left to copy, since the worker copies up to
//   three times before.
//   A worker that fails is replaced by that RESTART until one succeeds; nothing is lost, the loop waits a little longer.
//   A copy that the disk has no room for is no failure: what was committed is in the WAL, and is copied later.

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { URL } from "node:url";
import { Worker } from "node:worker_threads";

const copyBytes = 4 * 1_048_576;
const restartBytes = 64 * 1_048_576;
/** What a RESTART may find left to copy, and how often the worker comes first where it is more. */
const leftBytes = 262_144;
const copiesBefore = 3;
const defaultIdleMs = 2_000;

interface WalState {
  readonly busy: number;
  /** Frames in the WAL. */
  readonly log: number;
  /** Frames that are in the database too. */
  readonly checkpointed: number;
}

export class Checkpoints {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #idleMs: number;
  readonly #frameBytes: number;
  /** NOOP only counts: about a microsecond. */
  readonly #count: StatementSync;
  #worker: Worker | undefined;
  #hasWorkerFailed = false;
  #isCopying = false;
  #isClosed = false;
  /** No sync has come for a while. */
  #isResting = false;
  #copies = 0;
  #idle: NodeJS.Timeout | undefined;
  #waiting: (() => void)[] = [];

  constructor(db: DatabaseSync, path: string, idleMs: number = defaultIdleMs) {
    this.#db = db;
    this.#path = path;
    this.#idleMs = idleMs;
    const page = db.prepare("pragma page_size").get() as { page_size: number };
    this.#frameBytes = page.page_size + 24;
    this.#count = db.prepare("pragma wal_checkpoint(NOOP)");
  }

  /** What stands in the WAL, in bytes: all of it, and the part that is not in the database yet. */
  wal(): { bytes: number; uncopiedBytes: number } {
    const { log, checkpointed } = walState(this.#count.get());
    return {
      bytes: Math.max(0, log) * this.#frameBytes,
      uncopiedBytes: Math.max(0, log - checkpointed) * this.#frameBytes,
    };
  }

  /** Looks whether there is something to do; called after each sync. */
  look(): void {
    if (this.#isClosed) return;
    this.#isResting = false;
    if (this.#idle) this.#idle.refresh();
    else this.#idle = setTimeout(() => this.#rest(), this.#idleMs).unref();
    if (!this.#isCopying && this.wal().uncopiedBytes >= copyBytes) this.#copy();
  }

  /**
   * Copies what the WAL holds and lets the next writer begin it anew; on the loop. False while a reader holds it back,
   * or the disk has no room for the copy: the WAL keeps what it holds, and the next sync leads here again.
   */
  restart(): boolean {
    if (this.#isClosed || this.#db.isTransaction) return false;
    try {
      const state = this.#db.prepare("pragma wal_checkpoint(RESTART)").get();
      this.#hasWorkerFailed = false;
      return walState(state).busy === 0;
    } catch {
      // Writers hear of the disk by themselves; a copy that is late is no fault of anybody's.
      return false;
    }
  }

  /** Settles when no copy is under way. */
  settled(): Promise<void> {
    if (!this.#isCopying) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
    this.#copied();
  }

  #copy(): void {
    if (this.#hasWorkerFailed) {
      this.restart();
      return;
    }
    this.#isCopying = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage("copy");
  }

  #start(): Worker {
    const worker = new Worker(new URL("./checkpoint-worker.ts", import.meta.url), {
      workerData: this.#path,
      name: "checkpoints",
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    worker.on("message", () => {
      this.#copied();
      if (!this.#isClosed) this.#mayRestart();
    });
    worker.on("error", () => (this.#hasWorkerFailed = true));
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#copied();
    });
    worker.unref();
    return worker;
  }

  #copied(): void {
    this.#isCopying = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #rest(): void {
    this.#idle = undefined;
    this.#isResting = true;
    if (!this.#isCopying && this.wal().bytes > 0) this.#mayRestart();
  }

  #mayRestart(): void {
    const { bytes, uncopiedBytes } = this.wal();
    if (!this.#isResting && bytes < restartBytes) return;
    if (uncopiedBytes > leftBytes && this.#copies++ < copiesBefore) return this.#copy();
    this.#copies = 0;
    this.restart();
  }
}

/** The one row that a checkpoint answers with. */
function walState(row: Record<string, SQLOutputValue> | undefined): WalState {
  return {
    busy: Number(row?.["busy"]),
    log: Number(row?.["log"]),
    checkpointed: Number(row?.["checkpointed"]),
  };
}
