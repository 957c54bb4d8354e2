// How often each address may try: a few times in a minute, counted where nobody can make the count grow without end.

import { isIPv6 } from "node:net";
import { groupsOf, normalAddress } from "../mesh/address.ts";

export interface AttemptsOptions {
  readonly now: () => number;
  readonly most: number;
  readonly everyMs: number;
}

/** Addresses that are counted each for itself; what comes from further ones is counted together. */
const mostAddresses = 1_024;

export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #times = new Map<string, number[]>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Counts an attempt. Answers how long to wait where there were too many, in milliseconds; 0 otherwise. */
  take(address: string): number {
    const { now, most, everyMs } = this.#options;
    const since = now() - everyMs;
    const source = this.#sourceOf(address, since);
    const times = (this.#times.get(source) ?? []).filter((at) => at > since);
    const oldest = times[0];
    if (oldest !== undefined && times.length >= most) return oldest - since;
    times.push(now());
    this.#times.set(source, times);
    return 0;
  }

  #sourceOf(address: string, since: number): string {
    const source = neighbourhood(address);
    if (this.#times.has(source) || this.#times.size < mostAddresses) return source;
    for (const [other, times] of this.#times)
      if (times.every((at) => at <= since)) this.#times.delete(other);
    return this.#times.size < mostAddresses ? source : "others";
  }
}

/** An address of IPv4; of IPv6 the network that one holder has all addresses of. */
function neighbourhood(address: string): string {
  const plain = normalAddress(address);
  if (plain === undefined || !isIPv6(plain)) return plain ?? "";
  return groupsOf(plain).slice(0, 4).join(":");
}
