// Grants: a host's decisions about capability keys, read at every call. This file says what they look like and mean.
//
//   Z1  A delivered grant comes before the agent's default, key by key; `write` includes `read`.
//   Z2  A required key without a grant is refused; in a strict agent every key is required; any other is allowed.

import type { Label } from "./operation.ts";

/** What a key allows; `write` includes `read`. */
export type Grant = "none" | "read" | "write";
export type Grants = Readonly<Record<string, Grant>>;

/** All that decides about a session's calls, as it stands now. */
export interface Access {
  /** The agent's own, where it has any. */
  readonly defaults?: Grants;
  /** Those delivered to this session; they come before the defaults, key by key. */
  readonly delivered?: Grants;
  /** Keys that fail closed: without a grant they are refused. */
  readonly required?: readonly string[];
  /** Every key is required. */
  readonly strict?: boolean;
}

export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly code: "denied"; readonly message: string };

/** Whether an operation of this label may be called under this key. Asked at every call, and never remembered. */
export function decide(access: Access, key: string, label: Label): Decision {
  const grant = grantOf(access, key);
  if (grant === undefined) {
    if (access.strict !== true && !access.required?.includes(key)) return { allowed: true };
    return denied(key, label, "there is no grant for it in this session");
  }
  if (grant === "write" || (grant === "read" && label === "read")) return { allowed: true };
  return denied(
    key,
    label,
    grant === "none"
      ? "this session is not allowed to use it"
      : "this session may only read with it",
  );
}

function grantOf({ delivered, defaults }: Access, key: string): Grant | undefined {
  for (const grants of [delivered, defaults])
    if (grants && Object.hasOwn(grants, key)) return grants[key];
  return undefined;
}

function denied(key: string, label: Label, why: string): Decision {
  return {
    allowed: false,
    code: "denied",
    message: `Grant ${key}: ${why}, and this call needs ${label}. It did not run. Go on without it, or ask the person to grant it.`,
  };
}
