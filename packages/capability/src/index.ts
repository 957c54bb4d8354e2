export { type Access, decide, type Decision, type Grant, type Grants } from "./access.ts";
export type { AuthConfig } from "./auth/auth-config.ts";
export {
  type AuthorizedFetch,
  authorizedFetch,
  type AuthorizedFetchOptions,
} from "./auth/authorized-fetch.ts";
export {
  AuthNotConfiguredError,
  ConnectionNotFoundError,
  RefreshFailedError,
  TokenExpiredError,
} from "./auth/failures.ts";
export { fromLegacyAuth, type LegacyAuth, noResolveAuth } from "./auth/ramps.ts";
export {
  type RefreshRetryOptions,
  type RefreshRetryResult,
  withRefreshRetry,
} from "./auth/refresh-retry.ts";
export {
  type Auth,
  type AuthFailure,
  authHeaders,
  type AuthResolver,
  type AuthResult,
  type ConnectionRef,
  connectionRef,
} from "./auth/resolver.ts";
export { SingleFlight } from "./auth/single-flight.ts";
export type { CallContext, Connector, Image, ImageNote } from "./connector.ts";
export { OperationError } from "./failure.ts";
export type { Json, JsonObject, JsonSchema } from "./json.ts";
export type { Label, Operation } from "./operation.ts";
export { Redactor } from "./secrets/redactor.ts";
export type { Surface, SurfaceNamespace, SurfaceOperation } from "./surface/surface.ts";
export type { CapabilitySource, SourceContext } from "./surface/source.ts";
export { buildSurface } from "./surface/build-surface.ts";
export {
  type AttachRequest,
  type CapabilityChanges,
  type CapabilityFactory,
  type CapabilityRow,
  type CapabilityState,
  type ConnectorRow,
  NamespaceAllocator,
  type Outbox,
  type OwnerLabel,
  type Problem,
  Registry,
  RegistryError,
  type RegistryErrorCode,
  type RegistryOptions,
  type RenameNotice,
  type RowStorage,
  type SurfaceEvent,
  type TakenName,
} from "./registry/index.ts";
