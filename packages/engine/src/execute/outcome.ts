// What a binding settled with, as text for the guest; and what is not for the guest at all.

import type { Json } from "@lichen/capability";
import type { Execution, ProgramEnd } from "@lichen/capability/execute";
import type { Ending, Outcome } from "./protocol.ts";
import type { Limits } from "./limits.ts";

/** What a binding answered, as an outcome: what is no JSON, too deep or too large is one that failed. */
export function outcomeOf(name: string, value: unknown, limits: Limits): Outcome {
  if (value === undefined) return { ok: true };
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    text = undefined;
  }
  if (text === undefined)
    return failed("invalid_outcome", `${name} ran, but answered with something that is not JSON.`);
  if (text.length > limits.outcomeBytes || Buffer.byteLength(text) > limits.outcomeBytes)
    return failed(
      "limit",
      `${name} ran, but its answer is larger than ${limits.outcomeBytes / 1_024} KiB: read less of it, or a page.`,
    );
  if (depthOf(text) > limits.depth)
    return failed("limit", `${name} ran, but its answer is deeper than ${limits.depth} levels.`);
  return { ok: true, text };
}

/** An error of the operation, as the code sees it; undefined for an error that is not an operation's. */
export function failureOf(error: unknown, limits: Limits): Outcome | undefined {
  if (!(error instanceof Error) || error.name !== "OperationError" || !("code" in error))
    return undefined;
  return failed(String(error.code), error.message.slice(0, limits.messageLength));
}

/** How the code ended, as the program's result. */
export function resultOf(ending: Ending, limits: Limits): Execution["result"] {
  if (!ending.ok) return ending;
  if (ending.text === undefined) return { ok: true };
  if (Buffer.byteLength(ending.text) > limits.resultBytes)
    return {
      ok: false,
      reason: "limit",
      message: `The result is larger than ${limits.resultBytes / 1_024} KiB: return less, only what is needed.`,
    };
  const value: Json = JSON.parse(ending.text);
  return { ok: true, value };
}

export function isProgramEnd(error: unknown): error is ProgramEnd {
  return (
    error instanceof Error &&
    error.name === "ProgramEnd" &&
    "reason" in error &&
    (error.reason === "diverged" || error.reason === "aborted")
  );
}

function failed(code: string, message: string): Outcome {
  return { ok: false, code, message };
}

/** How deep JSON text goes. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 34) {
      // To the quote that ends the string: one that no odd number of backslashes precedes.
      let end = at;
      do {
        end = text.indexOf('"', end + 1);
      } while (isEscaped(text, end));
      at = end;
    } else if (unit === 91 || unit === 123) deepest = Math.max(deepest, ++depth);
    else if (unit === 93 || unit === 125) depth--;
  }
  return deepest;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 92) before--;
  return (at - before) % 2 === 0;
}
