// What the door asks of a program's journal: the runtime's programs have this shape.

import type { Json, JsonObject } from "../json.ts";
import type { Label } from "../operation.ts";
import type { Journal } from "./port.ts";

/** The journal of one program: every call that it makes has an intent and an outcome here. */
export interface ProgramLike extends Journal {
  /**
   * One call through its whole order: a person's word where it needs that, the intent, the effect, the outcome. What is
   * recorded is returned and nothing runs. Rejects with an error whose `code` is `diverged` where the ordinal has another
   * operation or input on record, and where the run can go no further.
   */
  call(
    call: ProgramCallLike,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Json | undefined>,
  ): Promise<ProgramOutcomeLike>;
  /** What its code can name: `now` where it begins, and in a later process what it could name then. */
  names(now: ProgramNamesLike): ProgramNamesLike;
  /** What it has asked for so far, by ordinal: also in earlier processes, and what waits for a person. */
  calls(): readonly ProgramRecordLike[];
}

/** As a method, so that a journal may take JSON that is its own to change. */
type InputCheck = { check(input: JsonObject): JsonObject }["check"];

/** The operations of each namespace. */
export type ProgramNamesLike = Readonly<Record<string, readonly string[]>>;

export interface ProgramCallLike {
  readonly ordinal: number;
  /** The capability's id. */
  readonly capability: string;
  /** `namespace.operation`, as the code calls it. */
  readonly operation: string;
  readonly input: JsonObject;
  readonly label: Label;
  readonly replaySafe: boolean;
  /** Present: a person must allow exactly this input first. */
  readonly confirm?: { readonly description?: string } | undefined;
  /** Validates an input that a person edited; throws with the reason. */
  readonly check?: InputCheck | undefined;
  /** Told when it begins to wait for a person; answers how to say that it no longer does. */
  readonly waits?: (() => () => void) | undefined;
}

export type ProgramOutcomeLike =
  | { readonly ok: true; readonly value?: Json }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface ProgramRecordLike {
  readonly ordinal: number;
  readonly operation: string;
  /** Missing while it is open. */
  readonly outcome?: ProgramOutcomeLike;
}
