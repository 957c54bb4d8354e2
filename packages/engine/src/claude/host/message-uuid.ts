// The uuids of messages to Claude Code: UUIDv5 of what they carry, so that the same message sent again is known again.
//
//   The namespace is the UUIDv5 of "https://lichen.dev/claude-code/message" in the URL namespace of RFC 9562.

import { createHash } from "node:crypto";

const urlNamespace = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const messages = uuid5(urlNamespace, "https://lichen.dev/claude-code/message");

/** Of a command's id for its prompt; of an entry's id for a steer; of both and a number for a note of ours. */
export function messageUuid(name: string): string {
  return uuid5(messages, name);
}

/** @internal Exported for its tests. */
export function uuid5(namespace: string, name: string): string {
  const bytes = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest()
    .subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
