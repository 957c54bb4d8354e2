// A document of ours with what published ones seldom have in one place, and connectors that record what they would send.

import type { Auth, AuthResolver, Json, JsonObject } from "@lichen/capability";
import {
  createOpenApiConnector,
  type OpenApiConnectorOptions,
} from "@lichen/capability/connectors";
import { expect } from "vitest";
import { noAuth, stage } from "./service.ts";

export interface Described {
  readonly paths: JsonObject;
  readonly components?: JsonObject;
  readonly openapi?: string;
  readonly servers?: readonly JsonObject[];
}

export function documentOf({
  paths,
  components,
  openapi = "3.1.0",
  servers,
}: Described): JsonObject {
  return {
    openapi,
    info: { title: "Garden", version: "1" },
    paths,
    ...(components && { components }),
    ...(servers && { servers }),
  };
}

export interface Sent {
  readonly url: URL;
  readonly init: RequestInit;
}

/** A connector whose requests go nowhere: each is recorded and answered with `{}`. */
export function recording(
  spec: JsonObject,
  options: Partial<OpenApiConnectorOptions> & { readonly config?: JsonObject } = {},
) {
  const sent: Sent[] = [];
  const resolver: AuthResolver = options.resolver ?? noAuth();
  const connector = createOpenApiConnector({
    id: "garden",
    namespace: "garden",
    authKind: "none",
    fetch: (url, init) => {
      sent.push({ url, init });
      return Promise.resolve(
        new Response("{}", { headers: { "content-type": "application/json" } }),
      );
    },
    ...options,
    resolver,
    config: { spec, baseUrl: "https://garden.example/api", ...options.config },
  });
  return { connector, sent, resolver };
}

/** One operation `call` with these parameters. */
export function withParameters(path: string, parameters: readonly JsonObject[]): JsonObject {
  return documentOf({ paths: { [path]: { get: { operationId: "call", parameters } } } });
}

export function withBody(content: JsonObject, components: JsonObject = {}): JsonObject {
  const requestBody = { required: true, content };
  return documentOf({
    paths: { "/beds": { post: { operationId: "call", requestBody } } },
    components,
  });
}

export const bearer = (token: string): Auth => ({
  kind: "header",
  headers: { authorization: `Bearer ${token}` },
});

/** A service with operations of its own origin, of another one, and of another path. */
export const garden = documentOf({
  paths: {
    "/beds": {
      get: { operationId: "list" },
      post: { operationId: "plant" },
      head: { operationId: "look" },
    },
    "/far": { get: { operationId: "far", servers: [{ url: "https://evil.example" }] } },
    "/near": { get: { operationId: "near", servers: [{ url: "/v2" }] } },
  },
});

interface Given {
  readonly spec?: Json;
  readonly config?: JsonObject;
  readonly authKind?: "none" | "header" | "oauth";
  readonly resolver?: AuthResolver;
}

/** A connector of the service on `origin`. */
export function connect(
  origin: string,
  { spec = garden, config, authKind = "none", resolver = noAuth() }: Given = {},
) {
  const connector = createOpenApiConnector({
    id: "garden",
    namespace: "garden",
    config: { spec, baseUrl: origin, ...config },
    authKind,
    resolver,
  });
  const call = (name: string, input: JsonObject = {}, signal?: AbortSignal) =>
    connector.call(name, input, stage(resolver, "garden", signal).context);
  return { connector, call };
}

/** The `OperationError` that the work rejects with. */
export async function errorOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: "OperationError" });
  return error as { code: string; message: string };
}
