// An MCP server at an address, over both revisions.

import type { AuthResolver } from "@lichen/capability";
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { allOf, failureOf, byHand, connector, resolving, served, soon, told } from "./servers.ts";

const revisions = ["2025-11-25", "2026-07-28"] as const;

function calculator(): McpServer {
  const server = new McpServer(
    { name: "calculator", version: "1" },
    { instructions: "Adds.\nWell." },
  );
  server.registerTool(
    "add",
    {
      title: "Add",
      description: "Adds two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: "as data" }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("fail", {}, () => ({
    isError: true,
    content: [{ type: "text", text: "there is no such file" }],
  }));
  return server;
}

describe.each(revisions)("revision %s", (protocol) => {
  it("[M2] lists what a server offers, and calls it", async () => {
    const { url } = await served(calculator);
    const server = await connector({ url }, { protocol });
    const operations = await server.operations(soon());
    expect(operations.map(({ name }) => name)).toEqual(["add", "fail"]);
    expect(operations[0]?.description).toBe("Adds two numbers.");
    expect(operations[0]?.output).toMatchObject({ type: "object", required: ["sum"] });
    expect(await server.call("add", { a: 2, b: 3 }, told().context)).toEqual({ sum: 5 });
    expect(server.description).toBe("Adds. Well.");
  });

  it("[M6] labels every tool a write, whatever its server says of it", async () => {
    const { url } = await served(calculator);
    const server = await connector({ url }, { protocol });
    for (const { label, replaySafe } of await server.operations(soon())) {
      expect(label).toBe("write");
      expect(replaySafe).toBeUndefined();
    }
  });

  it("[M10] throws what a tool fails with, and refuses an input that does not fit", async () => {
    const { url } = await served(calculator);
    const server = await connector({ url }, { protocol });
    await expect(server.call("fail", {}, told().context)).rejects.toMatchObject({
      name: "OperationError",
      code: "tool_error",
      message: "there is no such file",
    });
    await expect(server.call("add", { a: "x" }, told().context)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:tool_error|invalid_input)$/),
    });
    await expect(server.call("none", {}, told().context)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:tool_error|invalid_input)$/),
    });
  });

  it("[M8] tells how far a call is, and stops it at the server when it is aborted", async () => {
    const stop = new AbortController();
    let stopped = 0;
    const { url } = await served(() => {
      const server = calculator();
      server.registerTool("watched", {}, async (context) => {
        const progressToken = context.mcpReq._meta?.progressToken;
        context.mcpReq.signal.addEventListener("abort", () => stopped++);
        if (progressToken !== undefined)
          await context.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: 1, total: 3, message: "reading" },
          });
        await new Promise((resolve) => context.mcpReq.signal.addEventListener("abort", resolve));
        return { content: [] };
      });
      return server;
    });
    const server = await connector({ url }, { protocol });
    const seen: string[] = [];
    const { context } = told({
      signal: stop.signal,
      progress: (text) => {
        seen.push(text);
        stop.abort();
      },
    });
    await expect(server.call("watched", {}, context)).rejects.toMatchObject({ code: "aborted" });
    expect(seen).toEqual(["1/3 reading"]);
    // A stateless server of the older revision has nobody who could be told.
    if (protocol === "2026-07-28") await expect.poll(() => stopped).toBe(1);
    expect(await server.call("add", { a: 1, b: 1 }, told().context)).toEqual({ sum: 2 });
  });

  it("[M3] asks for auth at each request, so that a token which rotated between two calls is used", async () => {
    let token = "first-token-value";
    const seen: string[] = [];
    const { url } = await served(calculator, (request) => {
      seen.push(request.headers.get("authorization") ?? "");
      return request.headers.get("authorization") === `Bearer ${token}`
        ? undefined
        : new Response("who are you?", { status: 401 });
    });
    const resolver = resolving(() => ({
      kind: "header",
      headers: { authorization: `Bearer ${token}` },
    }));
    const server = await connector({ url }, { protocol, resolver });
    expect(await server.call("add", { a: 1, b: 2 }, told().context)).toEqual({ sum: 3 });
    token = "second-token-value";
    expect(await server.call("add", { a: 3, b: 4 }, told().context)).toEqual({ sum: 7 });
    expect(seen.at(-1)).toBe("Bearer second-token-value");
    expect(resolver.asked).toBe(seen.length);
  });
});

it("[M2] speaks the newest revision that a server knows, and the older one where it knows no other", async () => {
  const versions: (string | null)[] = [];
  const { url } = await served(calculator, (request) => {
    versions.push(request.headers.get("mcp-protocol-version"));
    return undefined;
  });
  await (await connector({ url })).operations(soon());
  expect(versions.at(-1)).toBe("2026-07-28");
  const older = await byHand(() => false);
  await (await connector({ url: older.url })).operations(soon());
  expect(older.calls).toEqual([
    "server/discover",
    "initialize",
    "notifications/initialized",
    "tools/list",
  ]);
});

it("[M3] renews a refused token once and sends once more; what is refused again is told", async () => {
  let accepted = "new-token-value";
  const { url } = await served(calculator, (request) =>
    request.headers.get("authorization") === `Bearer ${accepted}`
      ? undefined
      : new Response(`no: ${request.headers.get("authorization")}`, { status: 401 }),
  );
  let refreshed = 0;
  let current = "old-token-value";
  const resolver: AuthResolver = {
    resolve: async () => ({ ok: true, auth: { kind: "oauth", token: current, version: current } }),
    refresh: async (_ref, version) => {
      expect(version).toBe(current);
      refreshed++;
      current = "new-token-value";
      return { ok: true, auth: { kind: "oauth", token: current, version: current } };
    },
  };
  const server = await connector({ url }, { resolver });
  expect(await server.call("add", { a: 1, b: 2 }, told().context)).toEqual({ sum: 3 });
  expect(refreshed).toBe(1);
  accepted = "one that nobody has";
  const error = await failureOf(server.call("add", { a: 1, b: 2 }, told().context));
  expect(error).toMatchObject({ code: "auth_refused" });
  expect(refreshed).toBe(2);
  // M5
  expect(allOf(error)).not.toContain("token-value");
});

it("[M3] sends nothing where no auth is to be had, and says why", async () => {
  const { url, calls } = await byHand(() => false);
  const server = await connector(
    { url },
    {
      resolver: {
        resolve: async () => ({
          ok: false,
          error: { code: "auth_not_configured", message: "Sign in with lichen capability auth x." },
        }),
      },
    },
  );
  await expect(server.operations(soon())).rejects.toMatchObject({
    code: "auth_not_configured",
    message: "Sign in with lichen capability auth x.",
  });
  expect(calls).toEqual([]);
});

it("[M5] lets no credential come back in what a server says", async () => {
  const token = "canary/credential+0123456789";
  const { url } = await byHand(({ method, id }, { result, raw, request }) => {
    if (method !== "tools/call") return false;
    const said = `you sent ${request.headers.authorization}`;
    if (calls++ === 0) result({ content: [{ type: "text", text: said }] });
    else if (calls === 2) {
      raw.writeHead(200, { "content-type": "text/event-stream" });
      const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -1, message: said } })}\n\n`;
      const half = event.indexOf("canary") + 9;
      raw.write(event.slice(0, half));
      setTimeout(() => raw.end(event.slice(half)), 20);
    } else raw.writeHead(500).end(said);
    return true;
  });
  let calls = 0;
  const resolver = resolving(() => ({ kind: "oauth", token, version: "1" }));
  const server = await connector({ url }, { resolver });
  expect(await server.call("act", {}, told().context)).toBe("you sent [redacted]");
  for (const code of ["mcp_error", "unavailable"]) {
    const error = await failureOf(server.call("act", {}, told().context));
    expect(error.code).toBe(code);
    expect(error.message).toContain("[redacted]");
    expect(allOf(error)).not.toContain("canary");
  }
});

it("[M19] follows a server to no other origin", async () => {
  const other = await byHand(() => false);
  const { url } = await byHand((_message, { raw }) => {
    raw.writeHead(307, { location: other.url }).end();
    return true;
  });
  const resolver = resolving(() => ({ kind: "oauth", token: "a-token-value", version: "1" }));
  const server = await connector({ url }, { resolver });
  await expect(server.operations(soon())).rejects.toMatchObject({ name: "OperationError" });
  expect(other.calls).toEqual([]);
});

it("[M7] reads all pages of a list, and tells when the list changes", async () => {
  const paged = await byHand(({ method, params }, { result }) => {
    if (method !== "tools/list") return false;
    const page = Number(params?.["cursor"] ?? 0);
    const tools = [{ name: `tool_${page}`, inputSchema: { type: "object" } }];
    result(page < 4 ? { tools, nextCursor: String(page + 1) } : { tools });
    return true;
  });
  const operations = await (await connector({ url: paged.url })).operations(soon());
  expect(operations.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4].map((n) => `tool_${n}`));

  const { url, notify } = await served(calculator);
  const server = await connector({ url });
  await server.operations(soon());
  const changed = new Promise<void>((resolve) => server.onChanged?.(resolve));
  notify.toolsChanged();
  await changed;
});

it("[M7] has no operations where a server has no tools", async () => {
  const { url } = await served(() => new McpServer({ name: "empty", version: "1" }));
  expect(await (await connector({ url })).operations(soon())).toEqual([]);
});

describe("what a server asks", () => {
  const asks = (): McpServer => {
    const server = calculator();
    server.registerTool(
      "deploy",
      { inputSchema: z.object({ to: z.string() }) },
      ({ to }, context) => {
        const answer = acceptedContent(context.mcpReq.inputResponses, "sure");
        if (answer)
          return { content: [{ type: "text", text: `${to}: ${JSON.stringify(answer)}` }] };
        if (context.mcpReq.inputResponses)
          return {
            content: [{ type: "text", text: JSON.stringify(context.mcpReq.inputResponses) }],
          };
        return inputRequired({
          inputRequests: {
            sure: inputRequired.elicit({
              message: `Deploy to ${to}?`,
              requestedSchema: {
                type: "object",
                properties: {
                  sure: { type: "boolean", title: "Sure" },
                  when: { type: "string", enum: ["now", "later"] },
                  count: { type: "integer", default: 2 },
                },
              },
            }),
          },
        });
      },
    );
    return server;
  };

  it("[M15] is asked of the person of the call, and what they leave out has its default", async () => {
    const { url } = await served(asks);
    const server = await connector({ url }, { protocol: "2026-07-28" });
    const { context } = told({
      ask: async (questions, description) => {
        expect(description).toBe("test asks: Deploy to production?");
        expect(questions).toEqual([
          { question: "Sure", options: [{ label: "Yes" }, { label: "No" }] },
          { question: "when", options: [{ label: "now" }, { label: "later" }] },
          { question: "count" },
        ]);
        return { Sure: "Yes", when: "later" };
      },
    });
    expect(await server.call("deploy", { to: "production" }, context)).toBe(
      'production: {"sure":true,"when":"later","count":2}',
    );
  });

  it("[M15] is cancelled where nobody can be asked", async () => {
    const { url } = await served(asks);
    const server = await connector({ url }, { protocol: "2026-07-28" });
    expect(await server.call("deploy", { to: "x" }, told().context)).toEqual({
      sure: { action: "cancel" },
    });
  });
});
