// A capability and its operations in words for a person. All of it may come from a stranger's server.

import type { CapabilityInfo, OperationInfo } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";

/** How its calls are authorised, and what is missing for that. */
export function authTold({ auth }: Pick<CapabilityInfo, "auth">): string {
  const { type, state, secret } = auth;
  const isSignIn = type === "oauth";
  const named = secret === undefined ? "secret" : `secret ${oneLine(secret, 128)}`;
  switch (state) {
    case "none":
      return "";
    case "ready":
      return isSignIn ? "signed in" : named;
    case "missing":
      return isSignIn ? "not signed in" : `${named} is missing`;
    case "expired":
      return isSignIn ? "sign-in has expired" : `${named} has expired`;
    case "unknown":
      return isSignIn ? "signs in" : named;
  }
}

export function labelTold({ label, confirm }: Pick<OperationInfo, "label" | "confirm">): string {
  return confirm ? `${label}, confirm` : label;
}

export function operationsTold(count: number): string {
  return `${count} ${count === 1 ? "operation" : "operations"}`;
}

/** What is wrong with it, on one line; empty where nothing is. */
export function problemTold({ problem }: Pick<CapabilityInfo, "problem">): string {
  return problem === undefined ? "" : oneLine(problem.message, 300);
}

/** Says so where it is not called as was asked. */
export function tellIfNotFree(
  wanted: string,
  { namespace }: Pick<CapabilityInfo, "namespace">,
  terminal: Terminal,
): void {
  if (wanted === namespace) return;
  terminal.say(
    `it is called ${oneLine(namespace, 64)}: ${oneLine(wanted, 64)} is or was the name of another, or a word of JavaScript`,
  );
}

/** How long nothing is said while a server is asked. */
const silenceMs = 3_000;

/** The work; where it takes long, the person is told what for. */
export async function toldIfSlow<T>(work: Promise<T>, terminal: Terminal): Promise<T> {
  const timer = setTimeout(() => terminal.say("waiting for its server, 30 s at most"), silenceMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
