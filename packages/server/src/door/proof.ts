// The challenge on `/health`: how a listener shows that it knows a token without saying it, and at which address it is
// to be spoken to: the first alone can be had from the true host by anybody in between.

import { Fault } from "@lichen/wire";

const nonceForm = /^[A-Za-z0-9_-]{16,128}$/;

/** Whether a nonce may be signed: 16 to 128 characters of base64url. */
export function checkNonce(nonce: string): string {
  if (nonceForm.test(nonce)) return nonce;
  throw new Fault("invalid", "challenge: 16 to 128 letters, digits, - and _");
}

/**
 * What a host signs to vouch for an address: that who dialled this authority (`host:port` as in `Host`) reached it and
 * nobody in between. The words keep it apart from all else that is signed under a token.
 */
export function vouchText(nonce: string, authority: string): string {
  return `lichen vouches ${nonce} ${authority}`;
}

/** HMAC-SHA-256 of the text under the secret, in hex. */
export async function sign(secret: string, text: string): Promise<string> {
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey(
    "raw",
    bytes.encode(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = await crypto.subtle.sign("HMAC", key, bytes.encode(text));
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

/** Compares without telling by its time how much is equal; lengths may be told. */
export function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}
