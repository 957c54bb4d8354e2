// This computer alone as a provider: every address of loopback is its own, and nobody else is near. Whatever runs here
// comes from these addresses, so that they prove nothing: a token or a key is asked for.

import { isIPv4 } from "node:net";
import { normalAddress } from "./address.ts";
import type { MeshProvider, Network, WhoIs } from "./provider.ts";

export function loopbackProvider(name: string): MeshProvider {
  const network: Network = {
    id: "loopback",
    label: "loopback",
    addrs: ["127.0.0.1", "::1"],
    state: "up",
  };
  return {
    name: "loopback",
    isComputer: true,
    self: () => ({ node: { id: "self", name }, networks: [network] }),
    peers: () => [],
    whoIs: async (address, within): Promise<WhoIs> => {
      const plain = normalAddress(address);
      const isOwn =
        plain !== undefined && (plain === "::1" || (isIPv4(plain) && plain.startsWith("127.")));
      const isWithin = within === undefined || within === network.id;
      return isOwn && isWithin ? { kind: "self", network } : { kind: "unknown" };
    },
    watch: () => () => {},
    problem: () => undefined,
    close: () => {},
  };
}
