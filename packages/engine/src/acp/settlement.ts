// How a run ends, by what the agent said last or by what became of its process.

import type { Result } from "@lichen/runtime";

/** Why a prompt has no end of its own. */
export type Stopped =
  /** The agent's own reason, as the protocol names it. */
  | { readonly how: "stopped"; readonly reason: string }
  | { readonly how: "refused"; readonly words: string }
  | { readonly how: "gone"; readonly words: string; readonly wasAsked: boolean };

export type Verdict = Pick<Result, "terminal" | "diagnostic">;

/** `openWrites`: calls that may have changed something and whose end was not told. */
export function verdictOf(stopped: Stopped, openWrites: readonly string[]): Verdict {
  const plain = plainVerdict(stopped);
  if (openWrites.length === 0) return plain;
  const calls = openWrites.join(", ");
  return {
    terminal: "outcome_unknown",
    diagnostic: `${plain.diagnostic ?? "The agent ended its turn"}. It did not say what became of: ${calls}. Look before you ask for it again.`,
  };
}

function plainVerdict(stopped: Stopped): Verdict {
  switch (stopped.how) {
    case "stopped":
      return reasons[stopped.reason] ?? unknownReason(stopped.reason);
    case "refused":
      return { terminal: "failed", diagnostic: stopped.words };
    case "gone":
      return stopped.wasAsked
        ? {
            terminal: "interrupted",
            diagnostic: `The agent was ended while it worked: ${stopped.words}`,
          }
        : {
            terminal: "failed",
            diagnostic: `The agent's process ended while it worked: ${stopped.words}`,
          };
  }
}

const reasons: Readonly<Record<string, Verdict>> = {
  end_turn: { terminal: "completed" },
  max_tokens: {
    terminal: "failed",
    diagnostic: "The agent reached its model's limit of tokens. Ask it to go on",
  },
  max_turn_requests: {
    terminal: "failed",
    diagnostic: "The agent reached its own limit of requests in one turn. Ask it to go on",
  },
  refusal: { terminal: "failed", diagnostic: "The agent refused to go on with this" },
  cancelled: { terminal: "interrupted", diagnostic: "The agent's turn was cancelled by the agent" },
};

function unknownReason(reason: string): Verdict {
  return {
    terminal: "failed",
    diagnostic: `The agent stopped for a reason that is not known here: ${reason}`,
  };
}
