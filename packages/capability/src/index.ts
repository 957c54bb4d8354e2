export type { Access, Grant, Grants } from "./access.ts";
export type { AuthConfig } from "./auth/auth-config.ts";
export type {
  Auth,
  AuthFailure,
  AuthResolver,
  AuthResult,
  ConnectionRef,
} from "./auth/resolver.ts";
export type { CallContext, Connector, Image, ImageNote } from "./connector.ts";
export { OperationError } from "./failure.ts";
export type { Json, JsonObject, JsonSchema } from "./json.ts";
export type { Label, Operation } from "./operation.ts";
export type { Surface, SurfaceNamespace, SurfaceOperation } from "./surface/surface.ts";
export type { CapabilitySource, SourceContext } from "./surface/source.ts";
