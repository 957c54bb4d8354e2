// One connection to an MCP server, from its handshake to its end. It is opened once and never again.

import type { AuthResolver } from "../../auth/resolver.ts";
import type { CallContext } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import { oneLine } from "../read-json.ts";
import { type McpConfig, parseMcpConfig } from "./config.ts";
import { elicit } from "./elicit.ts";
import { gated } from "./gate.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { operationsOf } from "./operations.ts";
import { Redactor } from "../../secrets/redactor.ts";
import { SentSecrets } from "./sent-secrets.ts";
import { programOf, type SecretSource } from "./program.ts";
import type { McpClient, McpSdk, McpTransport, SchemaVerdict } from "./sdk.ts";
import { asTrouble } from "./trouble.ts";

export interface McpOptions {
  /** Left out: the one of the platform. */
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Secrets by name, for the environment of a program. */
  readonly secret?: SecretSource;
  /** Speaks this revision only; left out, the newest that the server speaks. */
  readonly protocol?: "2025-11-25" | "2026-07-28";
  /** How long opening, and each list, may take: 60,000 ms. */
  readonly openMs?: number;
  /** How long a call may be silent: 600,000 ms; progress starts it again, up to six times as long in all. */
  readonly callMs?: number;
  /** The longest message of a server: 16 MiB. */
  readonly limitBytes?: number;
}

export interface McpSetup {
  readonly id: string;
  /** What people call the connection. */
  readonly name: string;
  readonly config: McpConfig;
  readonly resolver: AuthResolver;
  readonly sdk: McpSdk;
  readonly options: McpOptions;
  /** Who is asked where the server asks somebody; undefined where nobody can be. */
  readonly asker: () => CallContext["ask"];
  readonly onListChanged: () => void;
}

export interface OpenConnection {
  readonly client: McpClient;
  /** What people call the server. */
  readonly server: string;
  /** What the server says of itself, in one line. */
  readonly about?: string;
  /** The session that an HTTP server gave. */
  sessionId(): string | undefined;
  operations(signal: AbortSignal): Promise<Operation[]>;
  /** What `error` of a call means here. */
  trouble(error: unknown): OperationError;
  /** Settles when the connection is over, or cannot tell of changes any more. */
  readonly ended: Promise<void>;
  /** Ends it; a call that is under way fails. */
  close(): Promise<void>;
}

/**
 * Connects once and lists what the server offers. `client` speaks to it; `tools` are all `write`s until their owner
 * labels them. Rejects with an `OperationError`.
 */
export async function setupMcpConnection(
  config: JsonObject,
  resolver: AuthResolver,
  connectionId: string,
  sdk: McpSdk,
  options: McpOptions & { readonly signal?: AbortSignal } = {},
): Promise<{ client: McpClient; tools: readonly Operation[]; close(): Promise<void> }> {
  const signal = options.signal ?? new AbortController().signal;
  const parsed = parseMcpConfig(config);
  const setup = { id: connectionId, name: connectionId, config: parsed, resolver, sdk, options };
  const connection = await openMcp(
    { ...setup, asker: () => undefined, onListChanged: () => {} },
    signal,
  );
  try {
    const tools = await connection.operations(signal);
    return { client: connection.client, tools, close: () => connection.close() };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Opens a connection; a program that ends when it is asked which revision it speaks is started once more, for the older. */
export async function openMcp(setup: McpSetup, signal: AbortSignal): Promise<OpenConnection> {
  const { config, options } = setup;
  const server = config.transport === "http" ? new URL(config.url).host : config.command;
  const first = await transportOf(setup, server, signal);
  try {
    return await connect(setup, server, first, signal, false);
  } catch (error) {
    const endedEarly = config.transport === "stdio" && first.transport.ending?.() !== undefined;
    if (!endedEarly || signal.aborted || options.protocol !== undefined) throw error;
    return connect(setup, server, await transportOf(setup, server, signal), signal, true);
  }
}

interface Route {
  readonly transport: McpTransport;
  /** Why an answer was cut off, where one was. */
  readonly cut: () => OperationError | undefined;
}

async function transportOf(setup: McpSetup, server: string, signal: AbortSignal): Promise<Route> {
  const { id, config, resolver, sdk, options } = setup;
  const limitBytes = options.limitBytes ?? 16 * 1024 * 1024;
  if (config.transport === "stdio") {
    if (!sdk.startServer)
      throw new OperationError(
        "unavailable",
        `${server} is a program, and this host starts none: give the address of a server instead.`,
      );
    const program = await programOf(config, id, resolver, options.secret, limitBytes, signal);
    const redactor = new Redactor(program.secrets);
    const transport = gated(sdk.startServer(program), "stdio", () => redactor);
    return { transport, cut: () => undefined };
  }
  if (!sdk.HttpTransport)
    throw new OperationError(
      "unavailable",
      `${server} is at an address, and this host speaks no HTTP.`,
    );
  let reason: OperationError | undefined;
  const sent = new SentSecrets();
  const guarded = guardedFetch({
    id,
    url: config.url,
    resolver,
    limitBytes,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    onAuth: (auth) => sent.take(auth),
    onCut: (cut) => (reason = cut),
  });
  const inner = new sdk.HttpTransport(new URL(config.url), {
    fetch: guarded,
    onInsufficientScope: "throw",
  });
  return { transport: gated(inner, "http", () => sent.redactor), cut: () => reason };
}

async function connect(
  setup: McpSetup,
  server: string,
  { transport, cut }: Route,
  signal: AbortSignal,
  isLegacy: boolean,
): Promise<OpenConnection> {
  const { sdk, options, asker } = setup;
  const timeout = options.openMs ?? 60_000;
  const { protocol } = options;
  const client = new sdk.Client(
    { name: "lichen", version: "0.1.0" },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      versionNegotiation: {
        mode:
          protocol === undefined
            ? "auto"
            : protocol === "2026-07-28"
              ? { pin: protocol }
              : "legacy",
        // A program that does not know the question may never answer it.
        probe: {
          timeoutMs: setup.config.transport === "stdio" ? Math.min(timeout, 5_000) : timeout,
        },
      },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 100, onChanged: setup.onListChanged },
      },
      inputRequired: { maxRounds: 10 },
      // A server's schema is no reason to run its patterns here, and a value that differs from it is still its answer.
      jsonSchemaValidator: { getValidator: anyValue },
    },
  );
  const ended = Promise.withResolvers<void>();
  client.onclose = () => ended.resolve();
  client.onerror = (error) => {
    // The stream of an older server that tells of changes: it is not opened again by itself.
    if (error.message.startsWith("Maximum reconnection attempts")) ended.resolve();
  };
  client.setRequestHandler("elicitation/create", ({ params }) =>
    elicit(params, asker(), setup.name),
  );
  const trouble = (error: unknown, isCall = false) => {
    const said = { ending: transport.ending?.(), noise: transport.noise?.() };
    return asTrouble(cut() ?? error, { server, isCall, ...said });
  };
  try {
    await client.connect(transport, {
      signal,
      timeout,
      ...(isLegacy ? { prior: { kind: "legacy" } } : {}),
    });
  } catch (error) {
    await transport.close().catch(() => {});
    throw trouble(error);
  }
  const about = oneLine(client.getInstructions() ?? "", 200);
  void client.autoOpenedSubscription?.closed.then(() => ended.resolve());

  return {
    client,
    server,
    ...(about === "" ? {} : { about }),
    trouble: (error) => trouble(error, true),
    ended: ended.promise,
    sessionId: () => transport.sessionId,
    async operations(within) {
      // The SDK prints a line where it is asked for tools of a server that has none.
      if (!client.getServerCapabilities()?.tools) return [];
      try {
        const { tools } = await client.listTools(undefined, {
          signal: within,
          timeout,
          cacheMode: "refresh",
        });
        return operationsOf(tools);
      } catch (error) {
        throw trouble(error);
      }
    },
    async close() {
      if (transport.sessionId !== undefined) {
        const farewell = transport.terminateSession?.() ?? Promise.resolve();
        await Promise.race([farewell.catch(() => {}), pause(2_000)]);
      }
      await client.close().catch(() => {});
      await transport.close().catch(() => {});
      ended.resolve();
    },
  };
}

function anyValue<T>(): (input: unknown) => SchemaVerdict<T> {
  return (input) => {
    // It says of everything that it is what it should be.
    const data = input as T;
    return { valid: true, data, errorMessage: undefined };
  };
}

function pause(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  AbortSignal.timeout(ms).addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
