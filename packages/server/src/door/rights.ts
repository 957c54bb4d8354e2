// Who may do what: the one table of rights, and the one place where it is asked.
//
//   What a caller may not see is answered as absent (404); what it may see and not do is `denied` (403).
//   No process of an agent ever holds the right to answer an approval.

import { Fault } from "@lichen/wire";

/** Who a request comes from. */
export type Principal =
  /** The owner's token, or a device paired as the owner's: then `name` is the device's. */
  | { readonly kind: "owner"; readonly name?: string }
  /** Reads everything, changes nothing. */
  | { readonly kind: "viewer" }
  /** A process of one session, with a credential of its own. */
  | { readonly kind: "session"; readonly agent: string; readonly session: string }
  | { readonly kind: "none" };

/**
 * Things to be allowed: reading one session, reading across sessions, sending, answering approvals, changing what there
 * is, and seeing and deciding what agents may call.
 */
export type Right = "read" | "readAll" | "send" | "answer" | "change" | "lend";

const table: Record<Principal["kind"], Record<Right, boolean | "own">> = {
  owner: { read: true, readAll: true, send: true, answer: true, change: true, lend: true },
  viewer: { read: true, readAll: true, send: false, answer: false, change: false, lend: false },
  session: { read: "own", readAll: false, send: false, answer: false, change: false, lend: false },
  none: { read: false, readAll: false, send: false, answer: false, change: false, lend: false },
};

const deed: Record<Right, string> = {
  read: "read sessions",
  readAll: "read across sessions",
  send: "send to sessions",
  answer: "answer approvals",
  change: "create, change or delete sessions",
  lend: "see or decide what agents may call",
};

const holder: Record<Principal["kind"], string> = {
  owner: "the owner",
  viewer: "a viewer",
  session: "a session's process",
  none: "an unknown caller",
};

/** Refuses what the principal may not do. `target` is the session in question, where there is one. */
export function demand(
  principal: Principal,
  right: Right,
  target?: { agent: string; session: string },
): void {
  if (principal.kind === "none")
    throw new Fault(
      "unauthenticated",
      "No known credential came with the request: send `Authorization: Bearer <token>`.",
    );
  const allowed = table[principal.kind][right];
  if (allowed === true) return;
  if (allowed === "own" && principal.kind === "session" && target) {
    if (principal.agent !== target.agent)
      throw new Fault("unknown_agent", `There is no agent "${target.agent}" here.`);
    if (principal.session !== target.session)
      throw new Fault("unknown_session", `There is no session "${target.session}".`);
    return;
  }
  throw new Fault(
    "denied",
    `${capital(holder[principal.kind])} may not ${deed[right]}: use the owner's token.`,
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
