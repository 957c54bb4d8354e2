// Names and ids: what a caller may choose (session and request ids) and how issued ids look.

import * as z from "zod";

const encoder = new TextEncoder();

/** Length of a string in UTF-8 bytes. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

function isName(value: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what is refused
  if (/[\u0000-\u001f\u007f-\u009f]/.test(value)) return false;
  if (value === "." || value === ".." || value.length === 0 || value.length > 256) return false;
  return value.isWellFormed() && utf8Bytes(value) <= 256;
}

const name = (what: string) =>
  z
    .string()
    .refine(isName, `${what}: 1 to 256 bytes of UTF-8, no control characters, not "." or ".."`);

/** A session's name, chosen by a caller: 1–256 bytes of UTF-8, compared as bytes, never used as a path. */
export const SessionId = name("session");
/** The caller's own key for one admission, scoped to the session; same form as a session id. */
export const RequestId = name("requestId");
/** What people call a kept agent; same form as a session id. */
export const AgentLabel = name("name");
/** `cmd_…`, issued by the owner at admission. */
export const CommandId = z
  .string()
  .regex(/^cmd_[A-Za-z0-9_-]{1,64}$/, "commandId: an id that starts cmd_");
/** `ent_…`, the id of an entry; `parent`, `leaf` and `at` are entry ids. */
export const EntryId = z
  .string()
  .regex(/^ent_[A-Za-z0-9_-]{1,64}$/, "entry id: an id that starts ent_");
/** `apr_…`, the id of an approval. */
export const ApprovalId = z
  .string()
  .regex(/^apr_[A-Za-z0-9_-]{1,64}$/, "approvalId: an id that starts apr_");
/** An agent's label inside one host: letters, digits, dot, dash, underscore. */
export const AgentName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "agent: letters, digits, . _ - (64 at most)");
