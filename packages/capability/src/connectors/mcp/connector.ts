// An MCP server as a connector: opens its connection when it is first needed, and anew when the one before is over.
//
//   A call is sent once. Where its connection breaks, it fails and says that its effect is not known; the next call
//   opens anew. Only a call that the server refused unread, for a session that it forgot, is sent again.

import type { AuthResolver } from "../../auth/resolver.ts";
import type { CallContext, Connector } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import { parseMcpConfig } from "./config.ts";
import { type McpOptions, type McpSetup, type OpenConnection, openMcp } from "./connection.ts";
import { valueOf } from "./result.ts";
import type { McpSdk, Progress } from "./sdk.ts";
import { plain, statusOf } from "./trouble.ts";

export interface McpConnectorOptions {
  /** Of the capability's row. */
  readonly id: string;
  readonly namespace: string;
  readonly description?: string;
  /** As `parseMcpConfig` reads it. */
  readonly config: JsonObject;
  readonly resolver: AuthResolver;
  readonly sdk: McpSdk;
  readonly options?: McpOptions;
}

/** Throws an `OperationError` `invalid_config`; nothing is opened yet. */
export function createMcpConnector(given: McpConnectorOptions): Connector {
  return new McpConnector(given);
}

class McpConnector implements Connector {
  readonly id: string;
  readonly kind = "mcp";
  readonly namespace: string;
  readonly #described: string | undefined;
  readonly #setup: McpSetup;
  readonly #callMs: number;
  readonly #life = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #asking = new Set<NonNullable<CallContext["ask"]>>();
  #opening: Promise<OpenConnection> | undefined;
  #open: OpenConnection | undefined;
  /** How many calls each connection carries, also one that is left already. */
  readonly #calls = new Map<OpenConnection, number>();
  #wasOpen = false;
  #about: string | undefined;

  constructor({
    id,
    namespace,
    description,
    config,
    resolver,
    sdk,
    options = {},
  }: McpConnectorOptions) {
    this.id = id;
    this.namespace = namespace;
    this.#described = description;
    this.#callMs = options.callMs ?? 600_000;
    this.#setup = {
      id,
      name: namespace,
      config: parseMcpConfig(config),
      resolver,
      sdk,
      options,
      // A server does not say for which call it asks: with several, nobody can tell whom to ask.
      asker: () => (this.#asking.size === 1 ? [...this.#asking][0] : undefined),
      onListChanged: () => this.#changed(),
    };
  }

  /** Its owner's words, else the server's own once it was reached. */
  get description(): string {
    return this.#described ?? this.#about ?? `The MCP server ${this.namespace}`;
  }

  async operations(signal: AbortSignal): Promise<readonly Operation[]> {
    const connection = await this.#connection(signal);
    try {
      return await this.#during(connection, () => connection.operations(signal));
    } catch (error) {
      this.#leave(connection, error);
      throw signal.aborted ? aborted(error) : error;
    }
  }

  async call(operation: string, input: JsonObject, context: CallContext): Promise<unknown> {
    const first = await this.#connection(context.signal);
    try {
      return await this.#send(first, operation, input, context);
    } catch (error) {
      this.#leave(first, error);
      const isForgotten = statusOf(error) === 404 && first.sessionId() !== undefined;
      if (!isForgotten || context.signal.aborted) throw told(error, first, context);
    }
    const second = await this.#connection(context.signal);
    try {
      return await this.#send(second, operation, input, context);
    } catch (error) {
      this.#leave(second, error);
      throw told(error, second, context);
    }
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#life.abort();
    this.#listeners.clear();
    const opened = await this.#opening?.catch(() => undefined);
    const all = new Set([...this.#calls.keys(), ...(opened ? [opened] : [])]);
    await Promise.all([...all].map((connection) => connection.close()));
  }

  async #send(
    connection: OpenConnection,
    name: string,
    input: JsonObject,
    context: CallContext,
  ): Promise<unknown> {
    const { ask, signal } = context;
    if (ask) this.#asking.add(ask);
    try {
      const options = {
        signal,
        timeout: this.#callMs,
        maxTotalTimeout: this.#callMs * 6,
        resetTimeoutOnProgress: true,
        onprogress: (progress: Progress) => context.progress(progressText(progress)),
      };
      const result = await this.#during(connection, () =>
        connection.client.callTool({ name, arguments: { ...input } }, options),
      );
      return valueOf(result, context);
    } finally {
      if (ask) this.#asking.delete(ask);
    }
  }

  /** The one that is open, or a new one. Several who ask at once share it; one who stops waiting ends it for nobody. */
  async #connection(signal: AbortSignal): Promise<OpenConnection> {
    if (this.#life.signal.aborted)
      throw new OperationError(
        "unavailable",
        "This connection is closed: it was detached, or its host stops.",
      );
    this.#opening ??= this.#openAnew();
    return unlessAborted(this.#opening, signal);
  }

  #openAnew(): Promise<OpenConnection> {
    const opening = openMcp(this.#setup, this.#life.signal);
    const forget = () => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    opening.then((connection) => {
      if (this.#opening === opening) this.#open = connection;
      this.#about = connection.about;
      void connection.ended.then(() => this.#retire(connection));
      // What it offers may have changed while nothing was open.
      if (this.#wasOpen) this.#changed();
      this.#wasOpen = true;
    }, forget);
    return opening;
  }

  async #during<T>(connection: OpenConnection, work: () => Promise<T>): Promise<T> {
    this.#calls.set(connection, (this.#calls.get(connection) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (this.#calls.get(connection) ?? 1) - 1;
      if (left > 0) this.#calls.set(connection, left);
      else this.#calls.delete(connection);
      if (left === 0 && this.#open !== connection) void connection.close();
    }
  }

  /** Keeps a connection only if what failed on it was the call and not the connection. */
  #leave(connection: OpenConnection, error: unknown): void {
    const { code } = connection.trouble(error);
    const status = statusOf(error);
    const isLost = connection.sessionId() !== undefined && (status === 400 || status === 404);
    if (code === "unavailable" || code === "too_large" || isLost) this.#retire(connection);
  }

  /** The next call opens another; this one ends with the last call that it carries. */
  #retire(connection: OpenConnection): void {
    if (this.#open === connection) {
      this.#open = undefined;
      this.#opening = undefined;
    }
    if (!this.#calls.has(connection)) void connection.close();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function told(error: unknown, connection: OpenConnection, { signal }: CallContext): OperationError {
  return signal.aborted ? aborted(error) : connection.trouble(error);
}

function progressText({ progress, total, message }: Progress): string {
  const share = total === undefined ? String(progress) : `${progress}/${total}`;
  return message === undefined ? share : `${share} ${plain(message, 500)}`;
}

function aborted(cause?: unknown): OperationError {
  return new OperationError(
    "aborted",
    "The call was stopped; the server was told, and whether it took effect is not known.",
    { cause },
  );
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(aborted());
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(aborted());
  signal.addEventListener("abort", stop, { once: true });
  const done = () => signal.removeEventListener("abort", stop);
  void work.then(resolve, reject).finally(done);
  return promise;
}
