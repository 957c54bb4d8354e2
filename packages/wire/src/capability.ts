// Capabilities as they cross a process: what is attached to an agent, what may be asked of it, and a host's grants.
//
//   What a caller sends is strict: an unknown field is refused. What a host answers is open: a newer one may say more.
//   No shape here has a place for a secret; configurations and auth name secrets.

import * as z from "zod";
import { textLimitBytes } from "./command.ts";
import { Grant, Label } from "./entry.ts";
import { RequestId, utf8Bytes } from "./id.ts";
import { Json, JsonObject } from "./json.ts";

const wellFormed = (what: string) =>
  z.string().refine((text) => text.isWellFormed(), `${what}: not well-formed Unicode`);

const description = wellFormed("description").max(500);
const grantKey = wellFormed("grant").min(1).max(256);

const fits = (what: string) =>
  JsonObject.refine((value) => utf8Bytes(JSON.stringify(value)) <= textLimitBytes, {
    params: { fault: "too_large" },
    error: `${what}: larger than ${textLimitBytes} bytes of JSON, the most it may hold`,
  });

/** An id of a capability, issued when it is attached; also the name that a folder gives one of its own. */
export const CapabilityId = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,127}$/,
    "capability: letters, digits, _ and -, at most 128, a letter first",
  );

/** What code calls a capability: a JavaScript identifier. */
export const Namespace = z
  .string()
  .regex(
    /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/,
    "namespace: a name as in JavaScript, 64 characters at most",
  );

/** How an owner labels an operation: `confirm` is a write that a person must allow. */
export const OwnerLabel = z.enum(["read", "write", "confirm"]);
export type OwnerLabel = z.infer<typeof OwnerLabel>;

/** By the connector's name of an operation. */
const Labels = z.record(z.string().min(1).max(1_024), OwnerLabel);

export const CapabilityState = z.enum(["requested", "active", "releasing", "released"]);
export type CapabilityState = z.infer<typeof CapabilityState>;

/**
 * How its calls are authorised (names of secrets, never a secret), and whether they can be: `none` needs nothing, `ready`
 * is at hand, `missing` was never set up (a secret is not there, nobody signed in), `expired` needs a person to sign in
 * again, `unknown` was not asked.
 */
export const CapabilityAuth = z.object({
  type: z.string(),
  state: z.enum(["none", "ready", "missing", "expired", "unknown"]),
  header: z.string().optional(),
  format: z.string().optional(),
  secret: z.string().optional(),
  issuer: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  clientId: z.string().optional(),
  /** Its name. */
  clientSecret: z.string().optional(),
});
export type CapabilityAuth = z.infer<typeof CapabilityAuth>;

export const CapabilityInfo = z.object({
  id: z.string(),
  kind: z.string(),
  namespace: z.string(),
  state: CapabilityState,
  description: z.string().optional(),
  /** The key that grants name. */
  grant: z.string(),
  /** How many operations it lends now. */
  operations: z.int().nonnegative(),
  /** Why it lends nothing, or not what it should. */
  problem: z.object({ code: z.string(), message: z.string() }).optional(),
  auth: CapabilityAuth,
  config: JsonObject,
  labels: z.record(z.string(), OwnerLabel),
  /** The file of the agent's folder that names it; left out where its owner attached it. */
  file: z.string().optional(),
  createdAt: z.string(),
});
export type CapabilityInfo = z.infer<typeof CapabilityInfo>;

export const CapabilityList = z.object({
  capabilities: z.array(CapabilityInfo),
  /** Of the surface: rises with each change of what can be called. */
  revision: z.int().nonnegative(),
  /** Namespaces of before, and what they are called now. */
  renamed: z.record(z.string(), z.string()),
});
export type CapabilityList = z.infer<typeof CapabilityList>;

export const OperationInfo = z.object({
  /** The connector's own name. */
  name: z.string(),
  /** What code calls. */
  property: z.string(),
  description: z.string(),
  input: JsonObject,
  output: JsonObject.optional(),
  label: Label,
  confirm: z.boolean(),
  replaySafe: z.boolean(),
});
export type OperationInfo = z.infer<typeof OperationInfo>;

/** A capability with a page of its operations, in the order of their properties. */
export const CapabilityDetail = z.object({
  info: CapabilityInfo,
  operations: z.array(OperationInfo),
  /** The `after` of the next page; left out on the last one. */
  next: z.string().optional(),
});
export type CapabilityDetail = z.infer<typeof CapabilityDetail>;

/** Names of secrets, and never a secret: see the capability package's `AuthConfig`. */
const Auth = fits("auth");

export const AttachRequest = z.strictObject({
  /** The caller's own key: the same again attaches nothing twice. */
  requestId: RequestId,
  kind: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "kind: a word such as mcp or openapi"),
  /** What it would like to be called; the registry decides. */
  namespace: Namespace.exactOptional(),
  description: description.exactOptional(),
  /** As its kind reads it. */
  config: fits("config").exactOptional(),
  auth: Auth.exactOptional(),
  labels: Labels.exactOptional(),
  /** The namespace where it is left out. */
  grant: grantKey.exactOptional(),
  /** Where its server cannot be reached it stays `requested`, with its problem, and is tried again. */
  keep: z.boolean().exactOptional(),
});
export type AttachRequest = z.infer<typeof AttachRequest>;

export const CapabilityChanges = z.strictObject({
  namespace: Namespace.exactOptional(),
  /** All of them; what is not named is as its connector says. */
  labels: Labels.exactOptional(),
  description: description.exactOptional(),
  grant: grantKey.exactOptional(),
});
export type CapabilityChanges = z.infer<typeof CapabilityChanges>;

/** One operation, called by the owner. */
export const CallRequest = z.strictObject({
  /** The connector's name of it, or the property that code calls. */
  operation: wellFormed("operation").min(1).max(1_024),
  input: fits("input").exactOptional(),
  /** The owner's own word, which an operation that a person must allow does not run without. */
  confirm: z.boolean().exactOptional(),
});
export type CallRequest = z.infer<typeof CallRequest>;

/** What a call came to. An operation that failed is an answer; what was not to be called at all is refused. */
export const CallAnswer = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    /** Left out where there is none. */
    value: Json.optional(),
    images: z.array(z.object({ mimeType: z.string(), data: z.string() })).optional(),
  }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
]);
export type CallAnswer = z.infer<typeof CallAnswer>;

/** A host's decisions for one session; they replace all that it delivered before. */
export const GrantsDelivery = z.strictObject({
  version: z.int().nonnegative(),
  grants: z
    .record(z.string().min(1).max(256), Grant)
    .refine(
      (grants) => Object.keys(grants).length <= 1_000,
      "grants: more than 1000 keys, the most there may be",
    ),
});
export type GrantsDelivery = z.infer<typeof GrantsDelivery>;

/** What an agent may call has changed: read it again. */
export const CapabilitiesChange = z.object({
  agent: z.string(),
  /** Of the surface. */
  revision: z.int().nonnegative(),
  /** What is called otherwise by now. */
  notices: z.array(z.object({ from: z.string(), to: z.string(), message: z.string() })),
});
export type CapabilitiesChange = z.infer<typeof CapabilitiesChange>;
