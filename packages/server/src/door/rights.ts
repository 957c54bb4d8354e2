// Who may do what: the one table of rights, and the one place where it is asked.
//
//   What a caller may not see is answered as absent (404); what it may see and not do is `denied` (403).
//   No process of an agent ever holds the right to answer an approval.

import { Fault } from "@lichen/wire";

/** Who a request comes from. */
export type Principal =
  /** The owner's token, or a device paired as the owner's: then with the device's id and name. */
  | { readonly kind: "owner"; readonly name?: string; readonly device?: string }
  /** Reads everything, changes nothing. */
  | { readonly kind: "viewer"; readonly name?: string; readonly device?: string }
  /** A process of one session, with a credential of its own. */
  | { readonly kind: "session"; readonly agent: string; readonly session: string }
  /** Another machine, as a mesh proves it: `id` is its stable key, `network` the mesh that it came over. */
  | {
      readonly kind: "peer";
      readonly id: string;
      readonly name: string;
      readonly network: string;
    }
  | { readonly kind: "none" };

/**
 * Things to be allowed: reading one session, reading across sessions, sending, answering approvals, changing what there
 * is, seeing and deciding what agents may call, giving and finishing tasks, admitting devices, and seeing which machines
 * are near.
 */
export type Right =
  | "read"
  | "readAll"
  | "send"
  | "answer"
  | "change"
  | "lend"
  | "tasks"
  | "devices"
  | "near";

const nothing = {
  read: false,
  readAll: false,
  send: false,
  answer: false,
  change: false,
  lend: false,
  tasks: false,
  devices: false,
  near: false,
} as const;

/** The whole table. `own` is what is the caller's own: its session, and the meshes that it is in. */
export const rights: Readonly<Record<Principal["kind"], Readonly<Record<Right, boolean | "own">>>> =
  {
    owner: {
      read: true,
      readAll: true,
      send: true,
      answer: true,
      change: true,
      lend: true,
      tasks: true,
      devices: true,
      near: true,
    },
    viewer: { ...nothing, read: true, readAll: true, near: true },
    session: { ...nothing, read: "own", tasks: "own" },
    peer: { ...nothing, tasks: true, near: "own" },
    none: nothing,
  };

const deed: Record<Right, string> = {
  read: "read sessions",
  readAll: "read across sessions",
  send: "send to sessions",
  answer: "answer approvals",
  change: "create, change or delete sessions",
  lend: "see or decide what agents may call",
  tasks: "give or finish tasks",
  devices: "see or admit devices",
  near: "see which machines are near",
};

const holder: Record<Principal["kind"], string> = {
  owner: "the owner",
  viewer: "a viewer",
  session: "a session's process",
  peer: "another machine",
  none: "an unknown caller",
};

/** What a right is asked for: a session, or what lies in one mesh. */
export type Target =
  | { readonly agent: string; readonly session: string }
  | { readonly network: string };

/** Refuses what the principal may not do. `target` is what it is to be done to, where there is one. */
export function demand(principal: Principal, right: Right, target?: Target): void {
  if (principal.kind === "none")
    throw new Fault(
      "unauthenticated",
      "No known credential came with the request: send `Authorization: Bearer <token>`.",
    );
  const allowed = rights[principal.kind][right];
  if (allowed === true) return;
  if (allowed === "own" && target && isOwn(principal, target)) return;
  throw new Fault(
    "denied",
    `${capital(holder[principal.kind])} may not ${deed[right]}: use the owner's token.`,
  );
}

/** Whether it is the caller's own. Of another's session it does not learn whether there is one. */
function isOwn(principal: Principal, target: Target): boolean {
  if (principal.kind === "peer") return "network" in target && principal.network === target.network;
  if (principal.kind !== "session" || "network" in target) return false;
  if (principal.agent !== target.agent)
    throw new Fault("unknown_agent", `There is no agent "${target.agent}" here.`);
  if (principal.session !== target.session)
    throw new Fault("unknown_session", `There is no session "${target.session}".`);
  return true;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
