// OpenAPI services as a kind of capability.

import type { AuthConfig } from "../../auth/auth-config.ts";
import type { CapabilityFactory } from "../../registry/factory.ts";
import { readOpenApiConfig } from "./config.ts";
import { createOpenApiConnector } from "./connector.ts";
import type { SpecReading } from "./load.ts";
import type { AuthKind, Fetch } from "./send.ts";

export interface OpenApiFactoryOptions extends SpecReading {
  readonly fetch?: Fetch;
}

export function openApiFactory(options: OpenApiFactoryOptions = {}): CapabilityFactory {
  return {
    kind: "openapi",
    check: (config) => ({ ...readOpenApiConfig(config) }),
    create: ({ id, namespace, description, config, auth }, resolver) =>
      createOpenApiConnector({
        ...options,
        id,
        namespace,
        description,
        config,
        authKind: kindOf(auth),
        resolver,
      }),
  };
}

/** What the resolver must answer for a row's auth. */
function kindOf({ type }: AuthConfig): AuthKind {
  return type === "client_credentials" ? "oauth" : type;
}
