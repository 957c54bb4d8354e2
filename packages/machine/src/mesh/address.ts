// Addresses as text: one form for each, whatever the system or a person writes.

import { isIPv4, isIPv6 } from "node:net";

/** The usual form of an address, an IPv4 address written as IPv6 unmapped first; undefined for what is no address. */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // A zone says through which interface, which is no part of whose it is.
  const plain = text.replace(/%.*$/, "");
  if (!isIPv6(plain)) return undefined;
  const host = URL.parse(`http://[${plain}]`)?.hostname.slice(1, -1);
  if (host === undefined) return undefined;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (!mapped) return host;
  const high = Number.parseInt(mapped[1]!, 16);
  const low = Number.parseInt(mapped[2]!, 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Whether one machine alone can have it: neither every address nor a group's. */
export function isOneMachines(address: string): boolean {
  if (isIPv4(address)) {
    const first = Number(address.split(".")[0]);
    return first > 0 && first < 224;
  }
  return address !== "::" && !address.startsWith("ff");
}
