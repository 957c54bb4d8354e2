// An OpenAPI service as a capability: its document's operations, called with auth that is asked for at each call.
//
// Every operation is a `write` unless the owner says that the safe methods are reads. Nothing is kept of a call.

import type { AuthResolver, AuthResult } from "../../auth/resolver.ts";
import type { CallContext, Connector } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import { checkInput } from "../check-input.ts";
import { hint } from "../nearest.ts";
import { type OpenApiConfig, readOpenApiConfig } from "./config.ts";
import { isAddress, loadDocument, type SpecReading } from "./load.ts";
import type { ApiDocument } from "./operations.ts";
import { readAnswer } from "./read-answer.ts";
import { requestOf } from "./request.ts";
import {
  type AuthKind,
  type Fetch,
  send,
  type Sender,
  throwIfAborted,
  unlessAborted,
} from "./send.ts";

export interface OpenApiConnectorOptions extends SpecReading {
  /** Of the capability's row. */
  readonly id: string;
  readonly namespace: string;
  readonly description?: string;
  /** As `readOpenApiConfig` reads it. */
  readonly config: unknown;
  /** What the resolver must answer before anything is sent; `none` asks for nothing. */
  readonly authKind: AuthKind;
  /** Renews what was refused, and gives the document's auth where it needs one. */
  readonly resolver: AuthResolver;
  readonly fetch?: Fetch;
}

const defaultTimeoutMs = 60_000;

/** Throws an `OperationError` (`invalid_config`). The document is read when it is first needed. */
export function createOpenApiConnector(options: OpenApiConnectorOptions): Connector {
  const config = readOpenApiConfig(options.config);
  return new OpenApiConnector(options, config);
}

/** One service; shared by the connector and the request handler. */
export class OpenApiConnector implements Connector {
  readonly id: string;
  readonly kind = "openapi";
  readonly namespace: string;
  readonly description?: string;
  readonly #options: OpenApiConnectorOptions;
  readonly #config: OpenApiConfig;
  #document: Promise<ApiDocument> | undefined;
  readonly #closed = new AbortController();

  constructor(options: OpenApiConnectorOptions, config: OpenApiConfig) {
    this.id = options.id;
    this.namespace = options.namespace;
    if (options.description !== undefined) this.description = options.description;
    mustBePlaced(config, options.authKind);
    this.#options = options;
    this.#config = config;
  }

  async operations(signal: AbortSignal): Promise<readonly Operation[]> {
    const { operations } = await this.document(signal);
    return [...operations.values()].map(({ operation }) => operation);
  }

  async call(
    name: string,
    input: JsonObject,
    context: Pick<CallContext, "signal" | "resolve"> & Partial<Pick<CallContext, "image">>,
  ): Promise<unknown> {
    const document = await this.document(context.signal);
    const operation = document.operations.get(name);
    if (!operation) throw unknownOperation(name, document);
    checkInput(name, input, operation.operation.input);
    const request = requestOf(operation, input);
    const signal = AbortSignal.any([
      context.signal,
      this.#closed.signal,
      AbortSignal.timeout(this.#config.timeoutMs ?? defaultTimeoutMs),
    ]);
    const answer = await send(
      request,
      this.#sender(signal, () => context.resolve()),
    );
    const { image } = context;
    return readAnswer(answer, request.method, { signal, ...(image && { image }) });
  }

  close(): Promise<void> {
    this.#closed.abort(new OperationError("detached", "The capability is closed."));
    return Promise.resolve();
  }

  /** The document, read once. Who stops waiting leaves it to the others. */
  async document(signal: AbortSignal): Promise<ApiDocument> {
    throwIfAborted(signal);
    const loading = (this.#document ??= this.#load());
    return await unlessAborted(loading, signal);
  }

  #load(): Promise<ApiDocument> {
    const signal = AbortSignal.any([
      this.#closed.signal,
      AbortSignal.timeout(this.#config.timeoutMs ?? defaultTimeoutMs),
    ]);
    const { resolver } = this.#options;
    const sender = this.#sender(signal, () => resolver.resolve({ id: this.id }, signal));
    const loading = loadDocument(this.#config, this.#options, sender);
    loading.catch(() => {
      if (this.#document === loading) this.#document = undefined;
    });
    return loading;
  }

  #sender(signal: AbortSignal, resolve: () => Promise<AuthResult>): Sender {
    const { resolver, authKind, fetch } = this.#options;
    return {
      connectionId: this.id,
      authKind,
      resolve,
      ...(resolver.refresh && {
        refresh: (ref, version, at) => resolver.refresh!(ref, version, at),
      }),
      fetch: fetch ?? ((url, init) => globalThis.fetch(url, init)),
      signal,
    };
  }
}

/** A document that came from nowhere, or lies where others write, does not decide where a credential goes. */
function mustBePlaced({ spec, baseUrl }: OpenApiConfig, authKind: AuthKind): void {
  if (authKind === "none" || baseUrl !== undefined || isAddress(spec)) return;
  throw new OperationError(
    "invalid_config",
    'The config of an OpenAPI capability: calls with a credential need "baseUrl", since a document alone does not say where that may go.',
  );
}

function unknownOperation(name: string, { operations, leftOut }: ApiDocument): OperationError {
  const why = leftOut.get(name);
  return new OperationError(
    "unknown_operation",
    why === undefined
      ? `There is no operation ${name.slice(0, 100)}.${hint(name, [...operations.keys()])}`
      : `The operation ${name.slice(0, 100)} cannot be called: ${why}.`,
  );
}
