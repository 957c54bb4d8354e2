// An operation: one thing that a capability lends, under the labels of its author or its owner.
//
// A remote server's own hint never lowers a label: what nobody labelled is a `write`.

import type { JsonSchema } from "./json.ts";

/** Whether an operation changes anything. A `read` may run again after a crash. */
export type Label = "read" | "write";

export interface Operation {
  /** Unique within its capability; any text. */
  readonly name: string;
  /** For the model: what it does and when to use it. */
  readonly description: string;
  /** The schema of its input, always an object's. */
  readonly input: JsonSchema;
  /** The schema of what it answers, where it is known. */
  readonly output?: JsonSchema;
  readonly label: Label;
  /** A person must allow each call, with exactly its input. */
  readonly confirm?: boolean;
  /** Running it twice with the same input does no harm. */
  readonly replaySafe?: boolean;
}
