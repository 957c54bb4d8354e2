// What calls need of the run that makes them.

import type { Answer, Question } from "../engine/port.ts";
import type { SessionWriter } from "../log/session-row.ts";
import type { Ground } from "../store/ground.ts";
import type { Tx } from "../store/writer.ts";
import type { Approvals } from "./approvals.ts";

export interface CallingRun {
  readonly cid: number;
  /** Aborts when the run can go no further. */
  readonly signal: AbortSignal;
  readonly ground: Ground;
  readonly approvals: Approvals;
  /** Commits on the run's session; what throws in there, or a commit that fails, stops the run. */
  readonly write: Write;
  /** Asks a person, and says so to `waits` as long as it takes; what is written for that goes through `write`. */
  readonly ask: (
    question: Question,
    how?: { readonly write: Write; readonly waits?: (() => () => void) | undefined },
  ) => Promise<Answer>;
  /** A call runs, until what this answers is called: a host that stops lets it end for a while. */
  readonly works: () => () => void;
  readonly blob: (sha256: string) => Uint8Array | undefined;
  /** The entry `seq` is the outcome of the call at `index`: what streams of it is over with that. */
  readonly stored: (tx: Tx, seq: number, index: number) => void;
}

export type Write = <T>(body: (session: SessionWriter, tx: Tx) => T) => Promise<T>;
