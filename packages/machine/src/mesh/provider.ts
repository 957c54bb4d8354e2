// What a machine asks of a mesh: which networks it is in and where, who else is in them, and whom an address belongs to.
//
//   A node is known by its stable key; its name is for people. The same name in two networks is two nodes.
//   Whom an address belongs to has three answers, and what is not known is never this machine itself.

/** A network that this machine is in. */
export interface Network {
  readonly id: string;
  /** What people call it on this machine; elsewhere it may be called otherwise. */
  readonly label: string;
  /** This machine's own addresses in it, in their usual form; none while it has none. */
  readonly addrs: readonly string[];
  readonly iface?: string;
  readonly state: "up" | "down";
}

/** Another machine. */
export interface MeshNode {
  /** Its stable key. */
  readonly id: string;
  readonly name: string;
  /** In which networks it is, by their ids, and its addresses there. */
  readonly networks: readonly { readonly id: string; readonly addrs: readonly string[] }[];
  readonly online?: boolean;
  readonly owner?: string;
  readonly tags?: readonly string[];
}

export interface Self {
  readonly node: { readonly id: string; readonly name: string };
  readonly networks: readonly Network[];
}

export type WhoIs =
  | { readonly kind: "self"; readonly network: Network }
  | { readonly kind: "node"; readonly node: MeshNode; readonly network: Network }
  | { readonly kind: "unknown" };

export interface MeshProvider {
  /** What kind it is: its nodes and networks are its own, whatever another provider calls the same. */
  readonly name: string;
  /** Not a mesh but this computer alone: nothing is proven by its addresses. */
  readonly isComputer?: boolean;
  /** As it is known last; undefined while nothing is known yet. */
  self(): Self | undefined;
  peers(): readonly MeshNode[];
  /** Whom an address belongs to, in one network or in any. One that is not known is looked for anew first. Never throws. */
  whoIs(address: string, network?: string): Promise<WhoIs>;
  /** Calls back when anything has changed, until the answer is called. */
  watch(changed: () => void): () => void;
  /** Why what it says may be old, or nothing, as a sentence. */
  problem(): string | undefined;
  close(): void;
}
