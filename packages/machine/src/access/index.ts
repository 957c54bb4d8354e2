// Who may come to a machine, and how.

export { checkedDeviceName } from "../devices/device-name.ts";
export { Devices } from "../devices/devices.ts";
export { loopbackProvider } from "../mesh/loopback.ts";
export { Meshes, type NearNode } from "../mesh/meshes.ts";
export type { MeshNode, MeshProvider, Network, Self, WhoIs } from "../mesh/provider.ts";
export {
  type Snapshot,
  SnapshotProvider,
  type SnapshotProviderOptions,
  type SnapshotSource,
} from "../mesh/snapshot-provider.ts";
export { meshFileName, openStaticProvider } from "../mesh/static-file.ts";
export { Access, type AccessOptions } from "./access.ts";
export { listenMachine, type ListenMachineOptions } from "./listen-machine.ts";
export { type SessionSocket, SessionSockets, socketVariable } from "./session-sockets.ts";
export { type MachineWall, openWall, type WallOptions } from "./wall.ts";
