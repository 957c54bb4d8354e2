// A journal in memory, as durable as a test needs it: lives come and go, what was written stays. A life can be ended at
// any of its writes; what it would write later is refused.

import {
  type Binding,
  type Bindings,
  type Journal,
  ProgramEnd,
  type Snapshot,
} from "@lichen/capability/execute";
import { type Json, OperationError } from "@lichen/capability";

type Recorded = { at: number } & (
  | { ok: true; value: unknown }
  | { ok: false; code: string; message: string }
);

export interface Life {
  readonly journal: Journal;
  readonly bindings: Bindings;
  readonly signal: AbortSignal;
  /** Settles when a snapshot was kept in this life. */
  readonly saved: Promise<void>;
}

export interface LifeOptions {
  /** The number of the write after which nothing more is written. */
  readonly dieAfter?: number;
  /** `none`: every program starts again. `late`: also what is kept while it dies. */
  readonly snapshots?: "none" | "kept" | "late";
}

export class Ledger {
  readonly seed = "5eed".repeat(16);
  readonly startedAt = 1_700_000_000_000;
  readonly calls = new Map<number, string>();
  readonly outcomes = new Map<number, Recorded>();
  readonly order: number[] = [];
  kept: Snapshot | undefined;
  /** Every write of all lives. */
  writes = 0;

  live(bindings: Bindings, { dieAfter = Infinity, snapshots = "kept" }: LifeOptions = {}): Life {
    const death = new AbortController();
    const saved = Promise.withResolvers<void>();
    let written = 0;
    const write = (work: () => void) => {
      if (death.signal.aborted) throw new ProgramEnd("aborted", "The life is over.");
      work();
      this.writes++;
      if (++written === dieAfter) death.abort(new Error("The host stops."));
    };
    const bound =
      (name: string, binding: Binding): Binding =>
      async (input, call) => {
        const { ordinal } = call;
        const asked = `${name} ${JSON.stringify(input)}`;
        const before = this.calls.get(ordinal);
        if (before !== undefined && before !== asked)
          throw new ProgramEnd("diverged", `Call ${ordinal} was ${before} and is ${asked}.`);
        const recorded = this.outcomes.get(ordinal);
        if (recorded) return answer(recorded);
        if (before === undefined) write(() => this.calls.set(ordinal, asked));
        let outcome: Recorded;
        const at = this.startedAt + 1_000 * (ordinal + 1);
        try {
          outcome = { at, ok: true, value: await withEnd(() => binding(input, call), call.signal) };
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
          outcome = { at, ok: false, code: error.code, message: error.message };
        }
        write(() => {
          this.outcomes.set(ordinal, outcome);
          this.order.push(ordinal);
        });
        return answer(outcome);
      };
    const { seed, startedAt, order } = this;
    return {
      signal: death.signal,
      saved: saved.promise,
      bindings: Object.fromEntries(
        Object.entries(bindings).map(([namespace, operations]) => [
          namespace,
          Object.fromEntries(
            Object.entries(operations).map(([name, it]) => [
              name,
              bound(`${namespace}.${name}`, it),
            ]),
          ),
        ]),
      ),
      journal: {
        seed,
        startedAt,
        order,
        recordedAt: (ordinal) => this.outcomes.get(ordinal)!.at,
        snapshot: () => this.kept,
        save: async (snapshot) => {
          if (snapshots === "none") throw new Error("No snapshots are kept.");
          if (snapshots === "kept") write(() => (this.kept = snapshot));
          else this.kept = snapshot;
          saved.resolve();
        },
      },
    };
  }
}

/** An operation that waits for a person until `until` settles. */
export function waiting(until: () => Promise<unknown>, answered: Json = "yes"): Binding {
  return async (_, call) => {
    const resume = call.waits();
    await until();
    resume();
    return answered;
  };
}

function answer(recorded: Recorded): unknown {
  if (recorded.ok) return recorded.value;
  throw new OperationError(recorded.code, recorded.message);
}

async function withEnd<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => reject(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}
