// How a connector asks a person through a tool's own way of asking.

import { type CallContext, OperationError } from "@lichen/capability";
import type { Answers } from "../asking.ts";

type Ask = NonNullable<CallContext["ask"]>;

/** Answers by the questions' texts; what nobody answered is an `OperationError` `denied` or `expired`. */
export function askOf(
  ask: (
    questions: readonly never[],
    options?: { readonly description?: string },
  ) => Promise<Answers>,
): Ask {
  return async (questions, description) => {
    // What is no question is refused where questions are checked.
    const asked = questions as readonly never[];
    const told = await ask(asked, description === undefined ? {} : { description });
    if (told.outcome === "answered") return { ...told.answers };
    const said = told.message === undefined ? "" : `: ${told.message}`;
    throw new OperationError(
      told.outcome,
      told.outcome === "denied" ? `The person declined${said}.` : `Nobody answered in time${said}.`,
    );
  };
}
