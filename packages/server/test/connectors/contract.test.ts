// The connectors of this product, each against the one contract of all.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Auth, AuthResolver } from "@lichen/capability";
import {
  createFilesConnector,
  createMcpConnector,
  createOpenApiConnector,
  createSkillsConnector,
  createUiConnector,
} from "@lichen/capability/connectors";
import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { connectorContract } from "../../../capability/test/connector.contract.ts";
import { openFiles } from "../../src/connectors/host/files-on-node.ts";
import { mcpSdk } from "../../src/connectors/host/mcp-on-node.ts";
import { parseSkill } from "../../src/folder/skill.ts";
import { TempFolder } from "../folder/temp-folder.ts";
import { served } from "./servers.ts";

const resolverOf = (auth: () => Auth): AuthResolver => ({
  resolve: async () => ({ ok: true, auth: auth() }),
});

connectorContract(
  "files",
  async () => {
    const folder = new TempFolder().write({ "a.txt": "hello" });
    const store = openFiles(folder.path, { protectedPaths: [], readOnly: () => [] });
    return {
      connector: createFilesConnector({ id: "f", namespace: "files", mode: "write", store }),
      works: { operation: "read", input: { path: "a.txt" } },
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  },
  { isOutbound: false },
);

connectorContract(
  "skills",
  async () => {
    const folder = new TempFolder().write({
      "fill/SKILL.md": "---\nname: fill\ndescription: Fills.\n---\nFill.\n",
    });
    const store = openFiles(folder.path, { protectedPaths: [], readOnly: () => [] });
    return {
      connector: createSkillsConnector({
        ...{ id: "s", namespace: "skills", store },
        readHead: async (source, name) => (await parseSkill(source, name)).skill,
      }),
      works: { operation: "read", input: { name: "fill" } },
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  },
  { isOutbound: false },
);

connectorContract(
  "ui",
  async () => ({
    connector: createUiConnector({ id: "u", namespace: "ui" }),
    works: { operation: "show", input: { display: { type: "markdown", text: "Hi" } } },
    [Symbol.asyncDispose]: async () => {},
  }),
  { isOutbound: false },
);

connectorContract(
  "openapi",
  async (auth) => {
    const server = createServer((request, response) => {
      if (request.url === "/slow") return;
      response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const get = (operationId: string) => ({
      get: { operationId, responses: { 200: { description: "ok" } } },
    });
    const spec = {
      openapi: "3.1.0",
      info: { title: "t", version: "1" },
      paths: { "/now": get("now"), "/slow": get("slow") },
    };
    return {
      connector: createOpenApiConnector({
        ...{ id: "o", namespace: "api", authKind: "oauth", resolver: resolverOf(auth) },
        config: { spec, baseUrl: `http://127.0.0.1:${port}` },
      }),
      works: { operation: "now", input: {} },
      hangs: { operation: "slow", input: {} },
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  },
  { isOutbound: true },
);

connectorContract(
  "mcp",
  async (auth) => {
    const { url } = await served(() => {
      const server = new McpServer({ name: "contract", version: "1" });
      const content = [{ type: "text" as const, text: "done" }];
      server.registerTool("now", { inputSchema: z.strictObject({}) }, async () => ({ content }));
      server.registerTool(
        "slow",
        { inputSchema: z.strictObject({}) },
        () => new Promise<never>(() => {}),
      );
      return server;
    });
    const connector = createMcpConnector({
      ...{ id: "m", namespace: "mcp", config: { url }, resolver: resolverOf(auth) },
      sdk: await mcpSdk({ folder: "/", path: "" }),
      options: {},
    });
    return {
      connector,
      works: { operation: "now", input: {} },
      hangs: { operation: "slow", input: {} },
      [Symbol.asyncDispose]: async () => connector.close?.(),
    };
  },
  { isOutbound: true },
);
