// A capability and its operations in words for a person. All of it may come from a stranger's server.

import type { CapabilityInfo, OperationInfo } from "@lichen/wire";
import { oneLine } from "../printable.ts";

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
