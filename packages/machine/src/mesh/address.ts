// Addresses as text: one form for each, whatever the system or a person writes.

import { isIPv4, isIPv6 } from "node:net";

/** The usual form of an address, an IPv4 address written as IPv6 unmapped first; undefined for what is no address. */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const groups = groupsOf(text);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join(".");
  return written(groups);
}

/** The eight groups of a well-formed IPv6 address. */
export function groupsOf(text: string): number[] {
  // A zone says through which interface, which is no part of whose it is.
  const [head = "", tail] = text.replace(/%.*$/, "").split("::");
  const before = numbersIn(head);
  if (tail === undefined) return before;
  const after = numbersIn(tail);
  const between = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...between, ...after];
}

function numbersIn(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return Number.parseInt(group, 16);
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** As RFC 5952 writes it: in small letters, the first of the longest runs of zeros left out. */
function written(groups: readonly number[]): string {
  let start = -1;
  let length = 1;
  for (let at = 0; at < groups.length; at++) {
    let end = at;
    while (groups[end] === 0) end++;
    if (end - at > length) [start, length] = [at, end - at];
  }
  const texts = groups.map((group) => group.toString(16));
  if (start < 0) return texts.join(":");
  return `${texts.slice(0, start).join(":")}::${texts.slice(start + length).join(":")}`;
}

/** Whether one machine alone can have it: neither every address nor a group's. */
export function isOneMachines(address: string): boolean {
  if (isIPv4(address)) {
    const first = Number(address.split(".")[0]);
    return first > 0 && first < 224;
  }
  return address !== "::" && !address.startsWith("ff");
}
