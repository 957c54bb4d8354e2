// One renewal at a time for each connection, across every process that shares the store.
//
//   V20  Who holds the lease renews; whoever else asks meanwhile waits, and takes what comes of it.
//   V21  A holder that died is superseded when its lease ends.
//   V22  The work of a holder is shorter than its lease, and a late one writes nothing.
//   V23  A failure is told to all who wait; what was stored stays as it was.
//
// A renewal that began goes on when its callers leave, and what it brought is written once more where the store is busy: a
// token that rotates must not be lost on its way.

import { SingleFlight } from "@lichen/capability";
import { Fault } from "@lichen/wire";
import { AuthProblem } from "./problem.ts";
import type { Lease, Login, StoredLogin, TokenStore } from "./token-store.ts";

export interface RenewalOptions {
  readonly store: TokenStore;
  /** In ms. */
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Letters and digits, unguessable. */
  readonly randomId: (length: number) => string;
  /** Aborts after so many ms. */
  readonly deadline: (ms: number) => AbortSignal;
  readonly leaseMs?: number | undefined;
}

export type Renewed =
  | { readonly login: StoredLogin; readonly problem?: undefined }
  | { readonly problem: string };

/** Longer than `workMs`, by what a process that is alive may be late. */
const defaultLeaseMs = 30_000;
const workShare = 2 / 3;
const firstWaitMs = 15;
const longestWaitMs = 250;
/** How often a write is tried again that found the store busy: each try waits for others itself. */
const timesMore = 2;

export class Renewals {
  readonly #options: RenewalOptions;
  readonly #leaseMs: number;
  readonly #flights = new SingleFlight<Renewed>();
  #isClosing = false;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
  }

  /**
   * What stands in place of `seen` (a version, or undefined where there was none that could be used): what another one
   * has renewed, or what `work` brings.
   */
  renew(
    id: string,
    seen: number | undefined,
    work: (before: StoredLogin | undefined, signal: AbortSignal) => Promise<Login>,
    signal: AbortSignal,
  ): Promise<Renewed> {
    const key = `${seen ?? ""} ${id}`;
    return this.#flights.run(key, () => this.#renew(id, seen, work), signal);
  }

  /** Ends all waiting for others, and settles when what is renewed here is done. */
  close(): Promise<void> {
    this.#isClosing = true;
    return this.#flights.idle();
  }

  async #renew(
    id: string,
    seen: number | undefined,
    work: (before: StoredLogin | undefined, signal: AbortSignal) => Promise<Login>,
  ): Promise<Renewed> {
    const { store, now, wait, randomId } = this.#options;
    const owner = randomId(24);
    const until = now() + 2 * this.#leaseMs;
    let waitMs = firstWaitMs;
    while (now() <= until) {
      const found = store.read(id);
      if (found && found.version !== seen) return { login: found };
      const lease = store.lease(id, owner, now(), this.#leaseMs);
      if ("owner" in lease) return this.#work(lease, seen, work);
      if (this.#isClosing) return { problem: "this host is closing." };
      await wait(waitMs);
      waitMs = Math.min(waitMs * 1.5, longestWaitMs);
      const state = store.leaseState(id, now());
      if (state.fence === lease.fence && !state.isHeld && state.failure !== undefined)
        return { problem: state.failure };
    }
    return { problem: "another process has been renewing it for too long. Try again." };
  }

  async #work(
    lease: Lease,
    seen: number | undefined,
    work: (before: StoredLogin | undefined, signal: AbortSignal) => Promise<Login>,
  ): Promise<Renewed> {
    const { store, deadline } = this.#options;
    // Under the lease nobody else renews: what is read now stays until it is written.
    const before = store.read(lease.id);
    if (before && before.version !== seen) {
      store.release(lease);
      return { login: before };
    }
    let login: Login;
    try {
      login = await work(before, deadline(this.#leaseMs * workShare));
    } catch (error) {
      const isRefused = error instanceof AuthProblem && error.isRefused;
      const message =
        error instanceof AuthProblem || Fault.is(error)
          ? error.message
          : "its server gave an answer that cannot be used.";
      store.release(lease, { message, isRefused });
      return { problem: message };
    }
    const stored = (await this.#written(lease, login)) ?? this.#superseded(lease.id, seen);
    return stored ? { login: stored } : { problem: "it was signed out meanwhile." };
  }

  async #written(lease: Lease, login: Login): Promise<StoredLogin | undefined> {
    const { store, wait } = this.#options;
    for (let left = timesMore; ; left--)
      try {
        return store.renewed(lease, login);
      } catch (error) {
        if (left === 0 || !Fault.is(error) || error.code !== "unavailable") throw error;
        await wait(longestWaitMs);
      }
  }

  /** What another holder, or a person, has stored in place of what came too late. */
  #superseded(id: string, seen: number | undefined): StoredLogin | undefined {
    const found = this.#options.store.read(id);
    return found && found.version !== seen ? found : undefined;
  }
}
