// A provider whose source is read whole: it keeps what was read last and finds whom an address belongs to.
//
//   DV10  An address that is not known is looked for anew before it is called unknown, so that a new peer has its name
//         with its first request; asked again at once, it is not looked for again.
//   DV11  While the source cannot be read, or does not answer, what was read last holds, and why is said.

import type { Platform } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { isOneMachines, normalAddress } from "./address.ts";
import type { MeshNode, MeshProvider, Network, Self, WhoIs } from "./provider.ts";

export interface Snapshot {
  readonly self: Self;
  readonly nodes: readonly MeshNode[];
}

export interface SnapshotSource {
  readonly name: string;
  /**
   * What holds now; undefined where nothing has changed since it was read last. Throws a `Fault` with why it cannot be
   * read.
   */
  read(): Promise<Snapshot | undefined>;
}

export interface SnapshotProviderOptions {
  readonly source: SnapshotSource;
  readonly platform: Pick<Platform, "now" | "after" | "report">;
  /** How often the source is read without a request. */
  readonly everyMs?: number;
}

type Place = { readonly network: Network; readonly node?: MeshNode };

const unknown: WhoIs = { kind: "unknown" };
const defaultEveryMs = 2_000;
/** No request waits for a source longer. */
const longestReadMs = 5_000;
/** For how long an address that nobody has is not looked for again, and how many such are remembered. */
const missMs = 1_000;
const mostMisses = 1_024;

export class SnapshotProvider implements MeshProvider {
  readonly name: string;
  readonly #options: SnapshotProviderOptions;
  readonly #listeners = new Set<() => void>();
  readonly #misses = new Map<string, number>();
  #snapshot: Snapshot | undefined;
  #places: ReadonlyMap<string, readonly Place[]> = new Map();
  #problem: string | undefined;
  #reading: Promise<void> | undefined;
  /** A reading that begins after the one under way. */
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  private constructor(options: SnapshotProviderOptions) {
    this.name = options.source.name;
    this.#options = options;
  }

  /** Reads the source once; where it cannot be read, it is looked at again later. */
  static async open(options: SnapshotProviderOptions): Promise<SnapshotProvider> {
    const provider = new SnapshotProvider(options);
    await provider.#read();
    provider.#wait();
    return provider;
  }

  self(): Self | undefined {
    return this.#snapshot?.self;
  }

  peers(): readonly MeshNode[] {
    return this.#snapshot?.nodes ?? [];
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async whoIs(address: string, network?: string): Promise<WhoIs> {
    const plain = normalAddress(address);
    if (plain === undefined || !isOneMachines(plain)) return unknown;
    const found = this.#find(plain, network);
    if (found) return found;
    const missed = this.#misses.get(plain);
    if (missed !== undefined && Math.abs(this.#options.platform.now() - missed) < missMs)
      return unknown;
    await this.#readAfresh();
    const then = this.#find(plain, network);
    if (then) return then;
    if (this.#misses.size >= mostMisses) this.#misses.clear();
    this.#misses.set(plain, this.#options.platform.now());
    return unknown;
  }

  watch(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#listeners.clear();
  }

  /** Undefined where nobody has it, or where it is not one machine's alone. */
  #find(address: string, network: string | undefined): WhoIs | undefined {
    const places = (this.#places.get(address) ?? []).filter(
      (place) => network === undefined || place.network.id === network,
    );
    const [first, ...others] = places;
    if (!first || others.some(({ node }) => node?.id !== first.node?.id)) return undefined;
    return first.node
      ? { kind: "node", node: first.node, network: first.network }
      : { kind: "self", network: first.network };
  }

  /** What is read by the time this settles was begun after it was asked for. */
  #readAfresh(): Promise<void> {
    if (!this.#reading) return this.#read();
    this.#next ??= this.#reading.then(() => {
      this.#next = undefined;
      return this.#read();
    });
    return this.#next;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { source, platform } = this.#options;
    const before = this.#problem;
    try {
      const read = await this.#answered(source.read());
      this.#problem = undefined;
      if (!read) {
        if (before !== undefined) this.#tell();
        return;
      }
      this.#places = placesOf(read);
      this.#snapshot = read;
      this.#misses.clear();
      this.#tell();
    } catch (error) {
      if (!Fault.is(error)) platform.report(error);
      this.#problem = Fault.is(error) ? error.message : `${this.name}: it cannot be read`;
      if (this.#problem !== before) this.#tell();
    }
  }

  /** What the source says, unless it takes too long to say it. */
  async #answered(reading: Promise<Snapshot | undefined>): Promise<Snapshot | undefined> {
    const late = Promise.withResolvers<never>();
    const fault = new Fault(
      "unavailable",
      `${this.name}: it did not answer in ${longestReadMs / 1000} s`,
    );
    const cancel = this.#options.platform.after(longestReadMs, () => late.reject(fault));
    reading.catch(() => {
      // Told below, or too late to be told.
    });
    try {
      return await Promise.race([reading, late.promise]);
    } finally {
      cancel();
    }
  }

  #tell(): void {
    for (const changed of this.#listeners) changed();
  }

  #wait(): void {
    if (this.#isClosed) return;
    const { platform, everyMs = defaultEveryMs } = this.#options;
    this.#cancelTimer = platform.after(everyMs, () => void this.#read().then(() => this.#wait()));
  }
}

/** Who has which address, in which network. A network that is down has none. */
function placesOf({ self, nodes }: Snapshot): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Place[]>();
  const put = (address: string, place: Place) => {
    const there = places.get(address);
    if (there) there.push(place);
    else places.set(address, [place]);
  };
  const networks = new Map(self.networks.map((network) => [network.id, network]));
  for (const network of self.networks)
    if (network.state === "up") for (const address of network.addrs) put(address, { network });
  for (const node of nodes)
    for (const { id, addrs } of node.networks) {
      const network = networks.get(id);
      if (network?.state === "up") for (const address of addrs) put(address, { network, node });
    }
  return places;
}
