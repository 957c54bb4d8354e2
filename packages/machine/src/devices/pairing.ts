// Pairing: a code that the owner shows once, and that makes one device out of whoever brings it.
//
//   DV4  A code is 128 bits, good for five minutes and for one device; at most five are live, and a sixth ends the oldest.
//   DV5  A code that is wrong, used or over is refused with the same words.
//
// Codes are kept in memory alone: with the process they end.

import { createHash } from "node:crypto";
import type { Platform } from "@lichen/runtime";
import { isEqual } from "@lichen/server/door";
import { type Claimed, type Device, type DeviceKind, Fault, type PairState } from "@lichen/wire";
import { checkedDeviceName } from "./device-name.ts";
import type { Devices } from "./devices.ts";

export interface PairingOptions {
  readonly devices: Devices;
  readonly platform: Pick<Platform, "now" | "randomId" | "after">;
}

interface Offer {
  readonly id: string;
  readonly sha256: string;
  readonly kind: DeviceKind;
  /** What its device will be called, whatever it calls itself. */
  readonly name: string | undefined;
  readonly expiresAt: number;
  claimed: { readonly device: Device; readonly from: string | undefined } | undefined;
  isWithdrawn: boolean;
  readonly over: PromiseWithResolvers<void>;
  cancelTimer: () => void;
}

const liveMs = 300_000;
const mostLive = 5;
/** How long it is told how an offer ended. */
const toldMs = 600_000;
/** Of how many it is told. */
const mostTold = 100;
/** Of 36 kinds: more than 128 bits. */
const codeCharacters = 26;

export class Pairing {
  readonly #options: PairingOptions;
  readonly #offers = new Map<string, Offer>();

  constructor(options: PairingOptions) {
    this.#options = options;
  }

  /** Makes a code. Who shows a new one is never kept waiting for those that nobody brought. */
  offer(wish: { readonly name?: string; readonly kind?: DeviceKind }): {
    readonly code: string;
    readonly state: PairState;
  } {
    const { platform } = this.#options;
    const now = platform.now();
    const ended = [...this.#offers.values()].filter((offer) => !this.#isLive(offer));
    for (const [at, { id, expiresAt }] of ended.reverse().entries())
      if (at >= mostTold || expiresAt + toldMs <= now) this.#offers.delete(id);
    const name = wish.name === undefined ? undefined : checkedDeviceName(wish.name);
    const [oldest, ...others] = this.#live();
    if (oldest && others.length + 1 >= mostLive) this.#withdraw(oldest);
    const code = platform.randomId(codeCharacters);
    const over = Promise.withResolvers<void>();
    const offer: Offer = {
      id: `pair_${platform.randomId(20)}`,
      sha256: digest(code),
      kind: wish.kind ?? "owner",
      name,
      expiresAt: now + liveMs,
      claimed: undefined,
      isWithdrawn: false,
      over,
      cancelTimer: platform.after(liveMs, () => over.resolve()),
    };
    this.#offers.set(offer.id, offer);
    return { code, state: this.#stateOf(offer) };
  }

  /** Makes a device of who brings a live code, which is used up by it. A name that cannot be had uses up nothing. */
  claim({ code, name }: { readonly code: string; readonly name?: string }, from?: string): Claimed {
    const given = digest(code);
    let found: Offer | undefined;
    // Every code is compared, so that the time tells nothing.
    for (const offer of this.#live()) if (isEqual(offer.sha256, given)) found = offer;
    if (!found)
      throw new Fault(
        "unauthenticated",
        "This pairing code is not good, or not any more: ask the machine's owner for a new one.",
      );
    const called = found.name ?? name;
    if (called === undefined)
      throw new Fault("invalid", "name: missing: say what this device is to be called");
    const claimed = this.#options.devices.admit(called, found.kind);
    found.claimed = { device: claimed.device, from };
    this.#end(found);
    return claimed;
  }

  /** How an offer stands; with `timeoutMs`, once it is over or the time is. */
  async state(
    id: string,
    { timeoutMs = 0, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<PairState> {
    const offer = this.#get(id);
    if (timeoutMs > 0 && this.#isLive(offer) && signal?.aborted !== true) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const cancel = this.#options.platform.after(timeoutMs, resolve);
      const abort = () => resolve();
      signal?.addEventListener("abort", abort, { once: true });
      await Promise.race([offer.over.promise, late]);
      signal?.removeEventListener("abort", abort);
      cancel();
    }
    return this.#stateOf(offer);
  }

  /** Nobody can use the code any more. */
  withdraw(id: string): void {
    const offer = this.#get(id);
    if (this.#isLive(offer)) this.#withdraw(offer);
  }

  #withdraw(offer: Offer): void {
    offer.isWithdrawn = true;
    this.#end(offer);
  }

  close(): void {
    for (const offer of this.#offers.values()) this.#end(offer);
  }

  #end(offer: Offer): void {
    offer.cancelTimer();
    offer.over.resolve();
  }

  #live(): Offer[] {
    return [...this.#offers.values()].filter((offer) => this.#isLive(offer));
  }

  #isLive({ claimed, isWithdrawn, expiresAt }: Offer): boolean {
    return !claimed && !isWithdrawn && this.#options.platform.now() < expiresAt;
  }

  #get(id: string): Offer {
    const offer = this.#offers.get(id);
    if (!offer)
      throw new Fault("unknown_entry", "There is no such pairing: begin one with `lichen pair`.");
    return offer;
  }

  #stateOf(offer: Offer): PairState {
    const { id, kind, expiresAt, claimed } = offer;
    return {
      id,
      kind,
      state: claimed ? "claimed" : this.#isLive(offer) ? "waiting" : "ended",
      expires_at: new Date(expiresAt).toISOString(),
      ...(claimed ? { device: claimed.device } : {}),
      ...(claimed?.from === undefined ? {} : { from: claimed.from }),
    };
  }
}

function digest(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
