// Real MCP servers for tests, on loopback: of the official SDK, and by hand where one misbehaves; and a connector to them.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import {
  type Auth,
  type AuthResolver,
  type CallContext,
  type Connector,
  type JsonObject,
  OperationError,
} from "@lichen/capability";
import { createMcpConnector, type McpOptions } from "@lichen/capability/connectors";
import { createMcpHandler, type McpServerFactory } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { mcpSdk } from "../../src/connectors/host/mcp-on-node.ts";

export const noAuth: AuthResolver = { resolve: async () => ({ ok: true, auth: { kind: "none" } }) };

/** Serves `factory` in both revisions. `before` may answer a request in its place. */
export async function served(
  factory: McpServerFactory,
  before: (request: Request) => Response | undefined = () => undefined,
) {
  const handler = createMcpHandler(factory);
  const url = await listening(
    (fetch) => serve({ fetch, hostname: "127.0.0.1", port: 0, serverOptions: {} }),
    (request) => before(request) ?? handler.fetch(request),
  );
  onTestFinished(() => handler.close());
  return { url, notify: handler.notify };
}

async function listening(
  open: (fetch: (request: Request) => Response | Promise<Response>) => ReturnType<typeof serve>,
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<string> {
  const server = open(fetch);
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(async () => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}/mcp`;
}

export interface Rpc {
  id?: number | string;
  method: string;
  params?: Record<string, unknown>;
}

/** A server of the older revision, by hand. `answers` comes first; it may leave a request open. */
export async function byHand(
  answers: (
    message: Rpc,
    reply: { result: (result: unknown) => void; raw: ServerResponse; request: IncomingMessage },
  ) => boolean,
  tools: readonly unknown[] = [{ name: "act", inputSchema: { type: "object" } }],
) {
  const calls: string[] = [];
  const server = createServer((request, raw) => {
    if (request.method !== "POST") return void raw.writeHead(405).end();
    let body = "";
    request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const message: Rpc = JSON.parse(body);
      calls.push(message.method);
      const result = (value: unknown) => {
        raw.writeHead(200, { "content-type": "application/json" });
        raw.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: value }));
      };
      if (answers(message, { result, raw, request })) return;
      if (message.id === undefined) raw.writeHead(202).end();
      else if (message.method === "initialize")
        result({
          protocolVersion: "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "by hand", version: "1" },
        });
      else if (message.method === "tools/list") result({ tools });
      else if (message.method === "tools/call")
        result({ content: [{ type: "text", text: "done" }] });
      else raw.writeHead(400).end("unknown");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/mcp`, calls, server };
}

/** A connector that is closed when the test ends. Programs start in a folder of their own. */
export async function connector(
  config: JsonObject,
  options: McpOptions & { resolver?: AuthResolver; home?: (id: string) => string } = {},
): Promise<Connector> {
  const folder = await temporary();
  const { resolver = noAuth, home, ...rest } = options;
  const path = process.env["PATH"] ?? "";
  const made = createMcpConnector({
    id: "test",
    namespace: "test",
    config,
    resolver,
    sdk: await mcpSdk({ folder, path, ...(home ? { home } : {}) }),
    options: rest,
  });
  onTestFinished(() => made.close?.());
  return made;
}

export async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lichen-mcp-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What a call is given, with what is told through it. */
export function told(changes: Partial<CallContext> = {}) {
  const progress: string[] = [];
  const images: { mediaType: string; bytes: Uint8Array }[] = [];
  const context: CallContext = {
    signal: new AbortController().signal,
    resolve: async () => ({ ok: true, auth: { kind: "none" } }),
    image: ({ mediaType, bytes }) => {
      images.push({ mediaType, bytes });
      return { image: images.length - 1, mediaType, bytes: bytes.length };
    },
    progress: (text) => progress.push(text),
    display: () => {},
    ...changes,
  };
  return { context, progress, images };
}

export const soon = () => AbortSignal.timeout(20_000);

/** A resolver that answers what `auth` says now. */
export function resolving(auth: () => Auth): AuthResolver & { asked: number } {
  const resolver = {
    asked: 0,
    resolve: async () => {
      resolver.asked++;
      return { ok: true as const, auth: auth() };
    },
  };
  return resolver;
}

/** What `work` failed with. */
export async function failureOf(work: Promise<unknown>): Promise<OperationError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof OperationError) return error;
  throw new Error(`failed with no OperationError: ${String(error)}`);
}

/** All of an error that anybody may read. */
export function allOf(error: OperationError): string {
  const { cause } = error;
  return `${error.stack} ${cause instanceof Error ? cause.stack : ""} ${JSON.stringify(error)}`;
}
