// Calls of an OpenAPI service by method and path template, for code that needs no registry: one bag in, a handler out.

import type { AuthResolver } from "../../auth/resolver.ts";
import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { hint } from "../nearest.ts";
import { OpenApiConnector } from "./connector.ts";
import { readOpenApiConfig } from "./config.ts";
import type { SpecReading } from "./load.ts";
import type { AuthKind, Fetch } from "./send.ts";

export interface OpenApiRequestHandlerOptions extends SpecReading {
  /** What the resolver is asked for. */
  readonly connectionId: string;
  /** `{ spec, baseUrl?, … }`. */
  readonly config: unknown;
  readonly authResolver: AuthResolver;
  readonly authKind: AuthKind;
  readonly fetch?: Fetch;
}

export interface OpenApiRequest {
  /** `GET` if left out. */
  readonly method?: string;
  /** A template of the document: `/repos/{owner}/{repo}`. */
  readonly path: string;
  /** By the names of the operation's input: path, query, headers, cookies. Unknown ones are refused. */
  readonly params?: JsonObject;
  readonly body?: Json;
  readonly signal?: AbortSignal;
}

export interface OpenApiRequestHandler {
  /** Settles with what the service answers; rejects with an `OperationError`. */
  request(request: OpenApiRequest): Promise<unknown>;
}

/** Throws an `OperationError` (`invalid_config`). */
export function createOpenApiRequestHandler(
  options: OpenApiRequestHandlerOptions,
): OpenApiRequestHandler {
  const { connectionId: id, authResolver: resolver, config, ...rest } = options;
  const connector = new OpenApiConnector(
    { ...rest, id, namespace: id, config, resolver },
    readOpenApiConfig(config),
  );
  return {
    async request({
      method = "GET",
      path,
      params = {},
      body,
      signal = new AbortController().signal,
    }) {
      const { operations } = await connector.document(signal);
      const verb = method.toUpperCase();
      const all = [...operations.values()];
      const found = all.find((it) => it.method === verb && it.path === path);
      if (!found) {
        const paths = all.filter((it) => it.method === verb).map((it) => it.path);
        throw new OperationError(
          "unknown_operation",
          `The document has no ${verb.slice(0, 20)} ${path.slice(0, 200)}.${hint(path, paths)}`,
        );
      }
      const input = { ...params, ...(body !== undefined && { body }) };
      return await connector.call(found.operation.name, input, {
        signal,
        resolve: () => resolver.resolve({ id }, signal),
      });
    },
  };
}
