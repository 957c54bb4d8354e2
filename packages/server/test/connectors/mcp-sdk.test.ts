// The official SDK: handed in, and loaded late.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { setupMcpConnection } from "@lichen/capability/connectors";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { mcpSdk } from "../../src/connectors/host/mcp-on-node.ts";
import { byHand, noAuth, resolving, served } from "./servers.ts";

const sdk = () => mcpSdk({ folder: process.cwd(), path: process.env["PATH"] ?? "" });

it("[M1] one call connects with constructors that are handed in, and answers client and operations", async () => {
  const { url } = await served(() => {
    const server = new McpServer({ name: "greeter", version: "1" });
    server.registerTool("greet", { description: "Greets." }, () => ({
      content: [{ type: "text", text: "hello" }],
    }));
    return server;
  });
  const connection = await setupMcpConnection({ url }, noAuth, "id", await sdk());
  onTestFinished(() => connection.close());
  const { client, tools } = connection;
  expect(tools).toMatchObject([{ name: "greet", description: "Greets.", label: "write" }]);
  const signal = AbortSignal.timeout(5_000);
  const options = { signal, timeout: 5_000 };
  expect(await client.callTool({ name: "greet", arguments: {} }, options)).toMatchObject({
    content: [{ type: "text", text: "hello" }],
  });
});

it("[M1] what cannot be listed is no connection, and leaves none open", async () => {
  const { url } = await byHand(({ method }, { raw }) => {
    if (method !== "tools/list") return false;
    raw.writeHead(500).end("down");
    return true;
  });
  await expect(setupMcpConnection({ url }, noAuth, "id", await sdk())).rejects.toMatchObject({
    code: "unavailable",
  });
});

it("[M1] a kind of server that a host cannot reach is told", async () => {
  const { Client } = await sdk();
  const signal = AbortSignal.timeout(5_000);
  for (const config of [{ url: "http://127.0.0.1:1/" }, { command: "serve" }])
    await expect(
      setupMcpConnection(config, noAuth, "id", { Client }, { signal }),
    ).rejects.toMatchObject({ code: "unavailable" });
});

it("[M19] a redirect to another origin is followed by no SDK, nor does a header go there", async () => {
  const other = await byHand(() => false);
  const { url } = await byHand((_message, { raw }) => {
    raw.writeHead(307, { location: other.url }).end();
    return true;
  });
  const { Client } = await sdk();
  class Following extends StreamableHTTPClientTransport {
    constructor(at: URL, options: object) {
      super(at, { ...options, redirectPolicy: "follow" });
    }
  }
  const resolver = resolving(() => ({ kind: "header", headers: { "x-key": "a-key-value" } }));
  await expect(
    setupMcpConnection({ url }, resolver, "id", { Client, HttpTransport: Following }),
  ).rejects.toMatchObject({ name: "OperationError" });
  expect(other.calls).toEqual([]);
});

it("[M18] the kind loads the SDK for its first connector, and not before", async () => {
  const file = join(import.meta.dirname, "programs/loads.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  expect(JSON.parse(stdout)).toEqual({ before: false, after: true });
});
