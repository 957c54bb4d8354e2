// The executor port: runs a program in a sandbox against live bindings, and hands back only its result.
//
//   A program's calls are numbered in the order in which it makes them: its ordinals. With a journal, a program can be
//   killed at any point and run again or restored: it is given the same seed, clock and outcomes in the same order, so
//   it asks for the same calls. The guest's clock stands still between outcomes and jumps to each one's time.

import type { Json } from "../json.ts";

export interface SandboxExecutor {
  execute(code: string, bindings: Bindings, options?: ExecuteOptions): Promise<Execution>;
}

/** Namespaces of operations, by the names that code calls them. */
export type Bindings = Readonly<Record<string, Readonly<Record<string, Binding>>>>;

/**
 * One operation. Settles with JSON or undefined; an `OperationError` is thrown into the code; a `ProgramEnd` ends the
 * whole program and is not seen by the code.
 */
export type Binding = (input: Json | undefined, call: BindingCall) => Promise<unknown>;

export interface BindingCall {
  /** 0 for the first call of the program. */
  readonly ordinal: number;
  readonly signal: AbortSignal;
  /** The call waits for a person from now on, which no deadline counts; answers how to say that it no longer does. */
  waits(): () => void;
  /** Why the code is not given this answer, as what it is told in its place. */
  refusal?(answer: unknown): Error | undefined;
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  /** How long the program and its calls may take together, without what waits for people: 180,000 ms, at most 900,000. */
  readonly deadlineMs?: number;
  readonly journal?: Journal;
  /** What the code printed so far, the whole of it. */
  readonly output?: (text: string) => void;
}

/** What makes a program repeatable. Everything in it is durable by the time it can be read. */
export interface Journal {
  /** 32 bytes as hex, for randomness in the guest. */
  readonly seed: string;
  /** The guest's clock until the first outcome, in ms. */
  readonly startedAt: number;
  /** Ordinals in the order in which their outcomes were recorded. Grows just before the binding of each settles. */
  readonly order: readonly number[];
  /** When that outcome was recorded, in ms: the guest's clock from its delivery on. */
  recordedAt(ordinal: number): number;
  /** The program as an earlier process left it. */
  snapshot(): Snapshot | undefined;
  /** Keeps it in place of the one before, durably. A rejection means that it was not kept: the program replays then. */
  save(snapshot: Snapshot): Promise<void>;
}

export interface Snapshot {
  /** SHA-256 of the engine that made it (hex); another one replays from the start. */
  readonly engine: string;
  /** How many outcomes of `Journal.order` it holds. */
  readonly delivered: number;
  /** Compressed; at most 8 MiB. */
  readonly bytes: Uint8Array;
}

export interface Execution {
  /** How the program ended; a thrown error and a bound that was passed are results too. */
  readonly result:
    | { readonly ok: true; readonly value?: Json }
    | {
        readonly ok: false;
        /** `error`: the code threw. `limit`: memory, deadline, depth or size. `aborted`, `diverged`: see the message. */
        readonly reason: "error" | "limit" | "aborted" | "diverged";
        readonly message: string;
      };
  /** What it printed. */
  readonly printed: string;
  /** How many calls it made. */
  readonly calls: number;
}

/** Ends the whole program from within a binding: it asked for something else than it had before, or the run stops. */
export class ProgramEnd extends Error {
  override readonly name = "ProgramEnd";
  readonly reason: "diverged" | "aborted";

  constructor(reason: "diverged" | "aborted", message: string) {
    super(message);
    this.reason = reason;
  }
}
