// What the crashtest and the processes it kills say to each other: a job down, an account of the life up.
//
// Both ends are this very program, so that what arrives is what its type says.

import type { RecordedAnswer } from "@lichen/engine";
import type { Entry, Settlement } from "@lichen/wire";

/** One life of a host: it opens the copy, asks for what it wants as a client would, and dies or reaches the end. */
export interface Job {
  /** The directory pointed at, in the copy. */
  readonly dir: string;
  readonly stateDir: string;
  readonly session: string;
  readonly prompt: string;
  readonly model?: string;
  /** Where it writes down what it was told and what its tools did. */
  readonly witness: string;
  /** Absent in the first life: it asks the real provider. */
  readonly answers?: readonly RecordedAnswer[];
  readonly death?: Death;
  /** Stays a moment after the settlement, for the host's own chores. */
  readonly rests: boolean;
  readonly limitMs: number;
}

/**
 * Right after a durable write, or after an effect returned and before its outcome is written. Counted from 1; writes are
 * counted among those that wrote the same kinds of entries, since how many others come between is a matter of time.
 */
export type Death =
  | { readonly after: "write"; readonly kinds: string; readonly count: number }
  | { readonly after: "effect"; readonly count: number };

/** A life that reached its end. */
export interface Account {
  /** Absent where nothing had settled in time. */
  readonly settlement?: Settlement;
  readonly epoch: string;
  /** The session's whole log. */
  readonly entries: readonly Entry[];
  /** The kinds of entries that each write made durable; empty where there were none. */
  readonly writes: readonly string[];
  /** The tool of each effect that returned. */
  readonly effects: readonly string[];
  readonly answers: readonly RecordedAnswer[];
}

export type Message =
  | { readonly type: "account"; readonly account: Account }
  | { readonly type: "failed"; readonly reason: string };
