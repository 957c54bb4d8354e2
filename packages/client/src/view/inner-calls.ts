// The calls that a program makes, each by its ordinal, as one entry after the other tells of them.

import { cut, type EntryOf, type Json, programValue } from "@lichen/wire";
import type { InnerCallView } from "./view.ts";

/** What is kept of a value; more of it is in the log. */
const valueUnits = 4_096;

/** The calls in the order of their ordinals, with one of them changed or new. */
export function withInner(
  calls: readonly InnerCallView[],
  ordinal: number,
  part: Partial<InnerCallView>,
): readonly InnerCallView[] {
  const at = calls.findLastIndex((call) => call.ordinal <= ordinal);
  const known = calls[at];
  if (known?.ordinal === ordinal) return calls.with(at, { ...known, ...part });
  const fresh: InnerCallView = { ordinal, operation: "", state: "called", isEdited: false };
  return calls.toSpliced(at + 1, 0, { ...fresh, ...part });
}

export function innerStarted({
  at,
  data: { operation, capability, label, input },
}: EntryOf<"program.call">): Partial<InnerCallView> {
  return { operation, capability, label, input, state: "running", startedAt: at };
}

export function innerEnded({
  at,
  data: { operation, ok, value, code, message, interrupted },
}: EntryOf<"program.outcome">): Partial<InnerCallView> {
  const isDenied = code === "denied" || code === "expired";
  const answered = value === undefined ? undefined : programValue(value);
  return {
    operation,
    endedAt: at,
    state: ok ? "done" : interrupted ? "interrupted" : isDenied ? "denied" : "failed",
    ...(answered === undefined ? {} : valueShown(answered)),
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
  };
}

function valueShown(value: Json): Pick<InnerCallView, "value" | "isCut"> {
  const text = JSON.stringify(value);
  return text.length <= valueUnits ? { value } : { value: cut(text, valueUnits), isCut: true };
}
