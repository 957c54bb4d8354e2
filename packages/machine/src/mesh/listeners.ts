// Listeners on this machine's addresses in its meshes, which come and go with them.
//
//   DV15  An address that cannot be listened on keeps none of the others from being listened on, is said, and is tried
//         again.

import type { Platform } from "@lichen/runtime";
import { type DoorFetch, type Served, serveHost } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Meshes } from "./meshes.ts";

export interface ListenersOptions {
  readonly meshes: Meshes;
  readonly port: number;
  readonly fetch: DoorFetch;
  /** Whether the host itself listens at this address and port already. */
  readonly isCovered: (address: string, port: number) => boolean;
  readonly platform: Pick<Platform, "after" | "report">;
}

const againMs = 15_000;
/** What is under way when an address goes cannot be answered over it. */
const graceMs = 500;

export class MeshListeners {
  readonly #options: ListenersOptions;
  readonly #served = new Map<string, Served>();
  /** Addresses at which the host itself listens, as `host:port`. */
  readonly #covered = new Map<string, string>();
  readonly #problems = new Map<string, string>();
  readonly #stopWatching: () => void;
  #following: Promise<void> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ListenersOptions) {
    this.#options = options;
    this.#stopWatching = options.meshes.watch(() => void this.follow());
  }

  /** Listens where the meshes are now and nowhere else. */
  follow(): Promise<void> {
    this.#following = this.#following
      .then(() => this.#follow())
      .catch((error: unknown) => this.#options.platform.report(error));
    return this.#following;
  }

  /** The `host:port` pairs at which machines of its meshes reach it. */
  *names(): Iterable<string> {
    for (const { boundTo } of this.#served.values()) yield* boundTo;
    yield* this.#covered.values();
  }

  urls(): string[] {
    return [...this.names()].map((authority) => `http://${authority}`);
  }

  /** Where it should listen and does not, with why. */
  problems(): string[] {
    return [...this.#problems.values()];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatching();
    this.#cancelTimer?.();
    await this.follow();
  }

  async #follow(): Promise<void> {
    const wanted = new Set(this.#isClosed ? [] : this.#options.meshes.addresses());
    for (const known of [this.#problems, this.#covered])
      for (const address of known.keys()) if (!wanted.has(address)) known.delete(address);
    const gone = [...this.#served].filter(([address]) => !wanted.has(address));
    for (const [address] of gone) this.#served.delete(address);
    await Promise.all([
      ...gone.map(([, served]) => served.close({ graceMs })),
      ...[...wanted]
        .filter((address) => !this.#served.has(address) && !this.#covered.has(address))
        .map((address) => this.#listen(address)),
    ]);
    this.#cancelTimer?.();
    this.#cancelTimer =
      this.#problems.size > 0 && !this.#isClosed
        ? this.#options.platform.after(againMs, () => void this.follow())
        : undefined;
  }

  async #listen(address: string): Promise<void> {
    const { port, fetch, isCovered } = this.#options;
    const authority = `${address.includes(":") ? `[${address}]` : address}:${port}`;
    if (isCovered(address, port)) {
      this.#covered.set(address, authority);
      return;
    }
    try {
      this.#served.set(address, await serveHost({ fetch, port, bind: address, isExact: true }));
      this.#problems.delete(address);
    } catch (error) {
      if (!Fault.is(error)) throw error;
      const { cause } = error;
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : error.message;
      this.#problems.set(
        address,
        `this machine cannot be reached at ${authority} (${code}); it is tried again`,
      );
    }
  }
}
