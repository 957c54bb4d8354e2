// All meshes of a machine together: who stands behind a request, who is near, and at which addresses it is to be reached.
//
//   DV13  Whom an address belongs to is asked of the network that the request came over, known by the address of ours
//         that it reached; who is called by one address in two networks is two machines.
//   DV14  A node is known by its key and its provider: a name gives nothing, and a new name takes nothing away.

import type { Arrival } from "@lichen/server/door";
import { normalAddress } from "./address.ts";
import type { MeshNode, MeshProvider, Network } from "./provider.ts";

/** A machine near this one, in one network. */
export interface NearNode {
  /** `<provider>:<key>`. */
  readonly id: string;
  /** `name.mesh`. */
  readonly title: string;
  readonly name: string;
  /** The network's id with its provider, and what people call it. */
  readonly network: string;
  readonly label: string;
  readonly addrs: readonly string[];
  readonly online?: boolean;
}

/** Who stands behind an address, never guessed. */
export type Behind =
  | { readonly kind: "self" }
  | { readonly kind: "node"; readonly node: NearNode }
  | { readonly kind: "unknown" };

export interface MeshesOptions {
  readonly providers: readonly MeshProvider[];
  /** The labels of the meshes to serve; all of them where it is left out. */
  readonly only?: readonly string[];
}

export class Meshes {
  readonly #providers: readonly MeshProvider[];
  readonly #only: ReadonlySet<string> | undefined;

  constructor({ providers, only }: MeshesOptions) {
    this.#providers = providers;
    this.#only = only && new Set(only);
  }

  /** This machine's addresses in the meshes that it serves. A mesh without one is left out until it has one. */
  addresses(): string[] {
    const found = this.#overlays().flatMap(({ network }) => network.addrs);
    return [...new Set(found)];
  }

  /** The labels of the meshes that it serves. */
  labels(): string[] {
    return [...new Set(this.#overlays().map(({ network }) => network.label))].toSorted();
  }

  /** The label of one of its networks; none where it is in it no more. */
  labelOf(network: string): string[] {
    return this.#overlays()
      .filter((it) => networkId(it.provider, it.network) === network)
      .map((it) => it.network.label);
  }

  /** Who is near, once for each network; of one network alone where it is named. */
  near(within?: string): NearNode[] {
    return this.#overlays().flatMap(({ provider, network }) =>
      within === undefined || within === networkId(provider, network)
        ? provider
            .peers()
            .flatMap((node) =>
              node.networks
                .filter(({ id }) => id === network.id)
                .map(({ addrs }) => nearNode(provider, node, network, addrs)),
            )
        : [],
    );
  }

  /** A node by its id, with the name that it has in the first of its networks. */
  find(id: string): { readonly name: string } | undefined {
    const found = this.near().find((node) => node.id === id);
    return found && { name: found.title };
  }

  /** Who a request comes from. */
  async behind({ from, to }: Pick<Arrival, "from" | "to">): Promise<Behind> {
    const at = to === undefined ? undefined : normalAddress(to);
    if (from === undefined || at === undefined) return { kind: "unknown" };
    // Where two meshes have one address of ours, over which of them it came is not known.
    const [over, ...others] = this.#overlays().filter(({ network }) => network.addrs.includes(at));
    if (!over || others.length > 0) return { kind: "unknown" };
    const found = await over.provider.whoIs(from, over.network.id);
    if (found.kind !== "node") return { kind: found.kind };
    const { node, network } = found;
    const addrs = node.networks.find(({ id }) => id === network.id)?.addrs ?? [];
    return { kind: "node", node: nearNode(over.provider, node, network, addrs) };
  }

  /** Why something is not known or not up to date, as sentences. */
  problems(): string[] {
    return this.#providers.flatMap((provider) => provider.problem() ?? []);
  }

  watch(changed: () => void): () => void {
    const stops = this.#providers.map((provider) => provider.watch(changed));
    return () => {
      for (const stop of stops) stop();
    };
  }

  close(): void {
    for (const provider of this.#providers) provider.close();
  }

  #overlays(): { provider: MeshProvider; network: Network }[] {
    return this.#providers
      .filter(({ isComputer }) => isComputer !== true)
      .flatMap((provider) =>
        (provider.self()?.networks ?? [])
          .filter(({ state, addrs, label }) => {
            const isServed = this.#only === undefined || this.#only.has(label);
            return isServed && state === "up" && addrs.length > 0;
          })
          .map((network) => ({ provider, network })),
      );
  }
}

function nearNode(
  provider: MeshProvider,
  { id, name, online }: MeshNode,
  network: Network,
  addrs: readonly string[],
): NearNode {
  const seen = visible(name);
  return {
    id: `${provider.name}:${id}`,
    title: network.label === "" ? seen : `${seen}.${network.label}`,
    name: seen,
    network: networkId(provider, network),
    label: network.label,
    addrs,
    ...(online === undefined ? {} : { online }),
  };
}

/** A name as a machine may have given it to itself: nothing in it moves the text around it. */
function visible(name: string): string {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 256);
}

function networkId(provider: MeshProvider, { id }: Network): string {
  return `${provider.name}:${id}`;
}
