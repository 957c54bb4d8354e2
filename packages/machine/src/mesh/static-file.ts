// A mesh that is written down: `meshes.json` in the machine's state says which networks there are and who is in them.
//
//   DV12  A file that says two things at once, or that others can change, says nothing.
//   It is in the state because whoever can change it decides who is an owner: no process of an agent sees it there.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import { isOneMachines, normalAddress } from "./address.ts";
import type { MeshNode, Network } from "./provider.ts";
import {
  type Snapshot,
  SnapshotProvider,
  type SnapshotProviderOptions,
  type SnapshotSource,
} from "./snapshot-provider.ts";

/** Where it lies in a machine's state. */
export const meshFileName = "meshes.json";
const mostBytes = 16 * 1_048_576;

const text = z.string().min(1).max(256);
const address = z.string().transform((given, context) => {
  const plain = normalAddress(given);
  if (plain !== undefined && isOneMachines(plain)) return plain;
  context.addIssue({
    code: "custom",
    message: `${JSON.stringify(given)} is no address of a machine`,
  });
  return z.NEVER;
});
const addrs = z.array(address).max(64);

const MeshFile = z.strictObject({
  self: z.strictObject({ id: text, name: text }),
  networks: z.array(
    z.strictObject({
      id: text.exactOptional(),
      label: text,
      addrs,
      iface: text.exactOptional(),
      state: z.enum(["up", "down"]).exactOptional(),
    }),
  ),
  nodes: z.array(
    z.strictObject({
      id: text,
      name: text,
      /** A network's id, or its label. */
      network: text,
      addrs,
      online: z.boolean().exactOptional(),
      owner: text.exactOptional(),
      tags: z.array(text).exactOptional(),
    }),
  ),
});
type MeshFile = z.infer<typeof MeshFile>;

/** The provider of what is written down in a machine's state, whether or not the file is there yet. */
export function openStaticProvider(
  stateDir: string,
  platform: SnapshotProviderOptions["platform"],
): Promise<SnapshotProvider> {
  return SnapshotProvider.open({
    source: new StaticFile(join(stateDir, meshFileName)),
    platform,
  });
}

/** The file as a source: read again when it was replaced or written to. */
class StaticFile implements SnapshotSource {
  readonly name = "static";
  readonly #path: string;
  /** What was read last, and what was wrong with it. */
  #read: { readonly stamp: string; readonly fault?: Fault } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<Snapshot | undefined> {
    const stamp = await this.#stampNow();
    if (stamp === this.#read?.stamp) {
      if (this.#read.fault) throw this.#read.fault;
      return undefined;
    }
    try {
      const snapshot = parseMeshFile(await readFile(this.#path, "utf8"));
      this.#read = { stamp };
      return snapshot;
    } catch (error) {
      if (!Fault.is(error)) throw cannotRead(error);
      this.#read = { stamp, fault: error };
      throw error;
    }
  }

  /** Changes with the file. Throws where it is none that may be read. */
  async #stampNow(): Promise<string> {
    try {
      const found = await stat(this.#path);
      if (!found.isFile() || found.size > mostBytes)
        throw new Fault("unavailable", "meshes.json is no file of at most 16 MiB");
      const user = process.getuid?.();
      const isOthers = user !== undefined && found.uid !== user && found.uid !== 0;
      if (isOthers || (found.mode & 0o022) !== 0)
        throw new Fault("unavailable", "meshes.json can be changed by others: make it yours alone");
      return `${found.ino}:${found.mtimeMs}:${found.ctimeMs}:${found.size}`;
    } catch (error) {
      // What comes back later is read again.
      this.#read = undefined;
      throw Fault.is(error) ? error : cannotRead(error);
    }
  }
}

function cannotRead(cause: unknown): Fault {
  const isMissing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
  return new Fault(
    "unavailable",
    isMissing
      ? "meshes.json is not there: no mesh is written down"
      : "meshes.json cannot be read: check its rights",
    { cause },
  );
}

/** What the text of the file says; throws `unavailable` with what is wrong. */
function parseMeshFile(given: string): Snapshot {
  let json: unknown;
  try {
    json = JSON.parse(given);
  } catch (cause) {
    throw new Fault("unavailable", "meshes.json is not JSON", { cause });
  }
  const parsed = MeshFile.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(issue?.path.map(String).join(".") ?? "", issue?.message ?? "not valid");
  }
  const networks = networksOf(parsed.data);
  return {
    self: { node: parsed.data.self, networks },
    nodes: nodesOf(parsed.data, networks),
  };
}

function networksOf({ networks }: MeshFile): Network[] {
  const found: Network[] = [];
  for (const [at, { id, label, addrs: own, iface, state = "up" }] of networks.entries()) {
    const network = { id: id ?? label, label, addrs: own, state };
    if (found.some((other) => other.id === network.id || other.label === label))
      throw wrong(`networks.${at}`, `there is a network ${label} already`);
    found.push({ ...network, ...(iface === undefined ? {} : { iface }) });
  }
  return found;
}

function nodesOf({ self, nodes }: MeshFile, networks: readonly Network[]): MeshNode[] {
  const found = new Map<string, MeshNode>();
  const taken = new Map<string, string>();
  for (const { id, addrs: own } of networks)
    for (const it of own) taken.set(`${id} ${it}`, self.name);
  for (const [at, { network: named, addrs: own, ...node }] of nodes.entries()) {
    const where = `nodes.${at}`;
    const network =
      networks.find(({ id }) => id === named) ?? networks.find(({ label }) => label === named);
    if (!network) throw wrong(where, `there is no network ${named}`);
    if (node.id === self.id) throw wrong(where, "its id is this machine's own");
    for (const it of own) {
      const key = `${network.id} ${it}`;
      const other = taken.get(key);
      if (other !== undefined) throw wrong(where, `${it} is ${other}'s already`);
      taken.set(key, node.name);
    }
    const known = found.get(node.id);
    if (known && known.name !== node.name)
      throw wrong(where, `its id is ${known.name}'s: a machine has one name`);
    if (known?.networks.some(({ id }) => id === network.id))
      throw wrong(where, `it is in ${network.label} already`);
    const within = [...(known?.networks ?? []), { id: network.id, addrs: own }];
    found.set(node.id, { ...known, ...node, networks: within });
  }
  return [...found.values()];
}

function wrong(where: string, what: string): Fault {
  return new Fault("unavailable", `meshes.json: ${where === "" ? "" : `${where}: `}${what}`);
}
