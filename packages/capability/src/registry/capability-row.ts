// A capability as it is stored: what it is made from, what it is called, how far it is, and what it lends.
//
// A row holds all that list and surface need, so that a restart gives the same ones without asking any server. It holds
// no secret: configurations and auth name secrets.

import type { AuthConfig } from "../auth/auth-config.ts";
import type { JsonObject } from "../json.ts";
import type { SurfaceOperation } from "../surface/surface.ts";

export type CapabilityState = "requested" | "active" | "releasing" | "released";

/** How an owner labels an operation; it wins over the connector's word. `confirm` is a write that a person must allow. */
export type OwnerLabel = "read" | "write" | "confirm";

export interface Problem {
  readonly code: string;
  /** What happened and what to do next. */
  readonly message: string;
}

export interface CapabilityRow {
  readonly id: string;
  readonly kind: string;
  /** As its kind reads it. */
  readonly config: JsonObject;
  readonly auth: AuthConfig;
  /** What code calls it: a JavaScript identifier, unique among all rows, the released ones included. */
  readonly namespace: string;
  /** What it was called before, oldest first. Nothing else is ever called so. */
  readonly formerNamespaces: readonly string[];
  /** One line for the model. */
  readonly description: string;
  /** What its owner asked for when it was attached; the rest was found out. */
  readonly asked: {
    readonly namespace?: string;
    readonly description?: string;
    readonly grant?: string;
  };
  readonly state: CapabilityState;
  /** What it lends, under its connector's own labels, in the order of `property`. */
  readonly operations: readonly SurfaceOperation[];
  /** Properties of operations that are gone, with their names: no other operation is called so. */
  readonly formerProperties: Readonly<Record<string, string>>;
  /** The owner's, by the connector's name of an operation. */
  readonly labels: Readonly<Record<string, OwnerLabel>>;
  /** The key that grants name. */
  readonly grant: string;
  /** Where its server cannot be reached, it stays requested and is tried again. */
  readonly keep: boolean;
  /** The file that declares it; missing where its owner attached it by hand. */
  readonly file?: string;
  /** Digest of the request that attached it. */
  readonly request: string;
  /** Why it lends nothing, or not what it should. */
  readonly problem?: Problem;
  /** Of the surface, when this row last changed it; 0 before. */
  readonly revision: number;
  /** When it was requested, in ms. */
  readonly createdAt: number;
}

/** What an owner asks for. */
export interface AttachRequest {
  /** Letters, digits, `_` and `-`, at most 128, a letter first; issued where it is left out. */
  readonly id?: string;
  /** The caller's own key, where it names no id: the same again attaches nothing twice. */
  readonly requestId?: string;
  readonly kind: string;
  readonly config?: JsonObject;
  readonly auth?: AuthConfig;
  /** What it would like to be called; where left out the `id`, or without one what its connector would like. */
  readonly namespace?: string;
  readonly description?: string;
  readonly labels?: Readonly<Record<string, OwnerLabel>>;
  /** The key that grants name: where left out the `id`, or without one the namespace that it gets. */
  readonly grant?: string;
  /** Stays `requested`, with its problem, where its server cannot be reached. */
  readonly keep?: boolean;
  /** Attaches again what was detached under this id. */
  readonly again?: boolean;
  readonly file?: string;
}

export interface CapabilityChanges {
  readonly namespace?: string;
  /** All of them: what is not named is as the connector says. */
  readonly labels?: Readonly<Record<string, OwnerLabel>>;
  readonly description?: string;
  readonly grant?: string;
}
