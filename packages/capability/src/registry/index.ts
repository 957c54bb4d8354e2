export type {
  AttachRequest,
  CapabilityChanges,
  CapabilityRow,
  CapabilityState,
  OwnerLabel,
  Problem,
} from "./capability-row.ts";
export type { CapabilityFactory, ConnectorRow } from "./factory.ts";
export { NamespaceAllocator, type TakenName } from "./namespace-allocator.ts";
export { Registry, type RegistryOptions } from "./registry.ts";
export { RegistryError, type RegistryErrorCode } from "./registry-error.ts";
export type { Outbox, RowStorage } from "./row-book.ts";
export type { RenameNotice, SurfaceEvent } from "./surface-event.ts";
