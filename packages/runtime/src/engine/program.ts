// What the runtime lends a call that is a program: a call that makes calls of its own (execute).
//
// Each call of a program goes the way of every call (approval, durable intent, effect, durable outcome) under the label
// rules of recovery, and is known by its ordinal.

import type { Json, JsonObject, Label } from "@lichen/wire";

export interface Program {
  /** 32 bytes as hex; made when the program began, and the same after every restart. */
  readonly seed: string;
  /** When it began, in ms. */
  readonly startedAt: number;
  /** Ordinals in the order of their outcomes in the log. Grows when an outcome is durable, before its `call` settles. */
  readonly order: readonly number[];
  /** When the outcome of that ordinal was recorded, in ms. */
  recordedAt(ordinal: number): number;
  /**
   * One call through its whole order. A recorded outcome is returned without running again; one that an earlier process
   * left open runs again only if it is `read` or replay-safe, else its interrupted outcome is recorded. Rejects with a
   * `Fault` `diverged` where an ordinal has another operation or input on record, and where the run can go no further.
   * What `effect` throws becomes a failed outcome, with the `code` of the error where it has one.
   */
  call(
    call: ProgramCall,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Json | undefined>,
  ): Promise<ProgramOutcome>;
  /**
   * What its code can name: what is given when it begins, and in a later process what was given then, whatever is there
   * by now. Told before its first call.
   */
  names(now: ProgramNames): ProgramNames;
  /** What it has asked for so far, by ordinal: in earlier processes too, and also what waits for a person. */
  calls(): readonly ProgramRecord[];
  /** The state that an earlier process kept. */
  snapshot(): ProgramSnapshot | undefined;
  /** Keeps it in place of the one before; durable when it settles. Works also while the host drains. Gone with the program's own outcome. */
  save(snapshot: ProgramSnapshot): Promise<void>;
}

/** The operations of each namespace. */
export type ProgramNames = Readonly<Record<string, readonly string[]>>;

export interface ProgramCall {
  readonly ordinal: number;
  /** The capability's id. */
  readonly capability: string;
  /** `namespace.operation`, as code calls it and people read it. */
  readonly operation: string;
  readonly input: JsonObject;
  readonly label: Label;
  readonly replaySafe: boolean;
  /** Present: a person must allow exactly this input first. */
  readonly confirm?: { readonly description?: string } | undefined;
  readonly check?: ((input: JsonObject) => JsonObject) | undefined;
  /** Told when the call begins to wait for a person; answers how to say that it no longer does. */
  readonly waits?: (() => () => void) | undefined;
}

export type ProgramOutcome =
  | { readonly ok: true; readonly value?: Json }
  | {
      readonly ok: false;
      /** `denied`, `expired`, `interrupted`, or the operation's own. */
      readonly code: string;
      readonly message: string;
    };

export interface ProgramRecord {
  readonly ordinal: number;
  /** `namespace.operation`. */
  readonly operation: string;
  /** Missing while it is open. */
  readonly outcome?: ProgramOutcome;
}

export interface ProgramSnapshot {
  /** SHA-256 of the engine that made it, as hex. */
  readonly engine: string;
  /** How many outcomes of `order` it holds. */
  readonly delivered: number;
  readonly bytes: Uint8Array;
}
