// Rules that calls of a run and calls of a program share.

import type { Label } from "@lichen/wire";
import type { Answer } from "../engine/port.ts";

/** Whether a call that an earlier process left open may run again: by what it said then, and by what it says now. */
export function mayRepeat(
  known: { readonly label: Label; readonly replay_safe: number },
  call: { readonly label: Label; readonly replaySafe: boolean },
): boolean {
  return (
    (known.label === "read" && call.label === "read") ||
    (known.replay_safe === 1 && call.replaySafe)
  );
}

/** Why a call did not run that a person was asked about. */
export function refusalText(answer: Answer): string {
  if (answer.outcome !== "denied")
    return `This call was not allowed: its approval was ${answer.outcome}. It did not run.`;
  return `A person denied this call${answer.message ? `: ${answer.message}` : "."}`;
}
