// Servers that break, hang, forget and mean harm.

import { describe, expect, it } from "vitest";
import { byHand, connector, soon, told } from "./servers.ts";

const done = { content: [{ type: "text", text: "done" }] };

describe("a connection that breaks", () => {
  it("[M11] fails the call that was under way, never sends it again, and is opened anew by the next", async () => {
    let sent = 0;
    const { url } = await byHand(({ method }, { raw }) => {
      if (method !== "tools/call" || ++sent > 1) return false;
      raw.writeHead(200, { "content-type": "text/event-stream" });
      raw.write(": here it comes\n\n");
      setTimeout(() => raw.destroy(), 20);
      return true;
    });
    const server = await connector({ url });
    await expect(server.call("act", {}, told().context)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("Whether the call took effect is not known"),
    });
    expect(sent).toBe(1);
    expect(await server.call("act", {}, told().context)).toBe("done");
    expect(sent).toBe(2);
  });

  it("[M11] fails where a stream ends without an answer", async () => {
    const { url } = await byHand(({ method }, { raw }) => {
      if (method !== "tools/call") return false;
      raw.writeHead(200, { "content-type": "text/event-stream" }).end();
      return true;
    });
    const server = await connector({ url });
    await expect(server.call("act", {}, told().context)).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("[M11] is opened anew where the server forgot it, and the refused call is sent there", async () => {
    let session = 0;
    let ran = 0;
    const { url } = await byHand(({ method, id }, { raw, request, result }) => {
      if (method === "initialize") {
        raw.writeHead(200, {
          "content-type": "application/json",
          "mcp-session-id": `session-${++session}`,
        });
        const answer = {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "forgetful", version: "1" },
        };
        raw.end(JSON.stringify({ jsonrpc: "2.0", id, result: answer }));
        return true;
      }
      if (method !== "tools/call") return false;
      if (request.headers["mcp-session-id"] !== "session-2") raw.writeHead(404).end("forgotten");
      else {
        ran++;
        result(done);
      }
      return true;
    });
    const server = await connector({ url });
    await server.operations(soon());
    expect(await server.call("act", {}, told().context)).toBe("done");
    expect([session, ran]).toEqual([2, 1]);
  });

  it("[M11] cannot be opened where nobody listens, and is once somebody does", async () => {
    const { url, server: gone } = await byHand(() => false);
    const { port } = new URL(url);
    await new Promise((resolve) => gone.close(resolve));
    const server = await connector({ url });
    await expect(server.operations(soon())).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
    await new Promise<void>((resolve) => gone.listen(Number(port), "127.0.0.1", resolve));
    expect(await server.operations(soon())).toHaveLength(1);
  });

  it("[M11] is left by the next call only: one that is still under way ends as it would have", async () => {
    const { promise: asked, resolve: nowAsked } = Promise.withResolvers<() => void>();
    const { url, calls } = await byHand(
      ({ method, params }, { result, raw }) => {
        if (method !== "tools/call") return false;
        if (params?.["name"] === "fail") raw.writeHead(503).end("busy");
        else if (params?.["name"] === "slow") nowAsked(() => result(done));
        else return false;
        return true;
      },
      ["slow", "fail", "act"].map((name) => ({ name, inputSchema: { type: "object" } })),
    );
    const server = await connector({ url });
    const slow = server.call("slow", {}, told().context);
    const answer = await asked;
    await expect(server.call("fail", {}, told().context)).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(await server.call("act", {}, told().context)).toBe("done");
    expect(calls.filter((method) => method === "initialize")).toHaveLength(2);
    answer();
    expect(await slow).toBe("done");
  });

  it("[M11] opens no second connection for calls that come at the same time", async () => {
    const { url, calls } = await byHand(() => false);
    const server = await connector({ url });
    await Promise.all(Array.from({ length: 20 }, () => server.call("act", {}, told().context)));
    expect(calls.filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("[M11] is opened no more once it is closed", async () => {
    const { url } = await byHand(() => false);
    const server = await connector({ url });
    await server.operations(soon());
    await server.close?.();
    await expect(server.call("act", {}, told().context)).rejects.toMatchObject({
      code: "unavailable",
    });
  });
});

describe("a server that never answers", () => {
  it.each(["server/discover", "initialize", "tools/list", "tools/call"])(
    "[M12] ends the wait for %s",
    async (silent) => {
      const { url } = await byHand(({ method }) => method === silent);
      const server = await connector({ url }, { openMs: 200, callMs: 200 });
      const asked =
        silent === "tools/call"
          ? server.call("act", {}, told().context)
          : server.operations(soon());
      await expect(asked).rejects.toMatchObject({ code: "timeout" });
    },
  );

  it("[M12] ends the wait of whoever is stopped, and of nobody else", async () => {
    const asked = Promise.withResolvers<() => void>();
    const { url } = await byHand(({ method }, { result }) => {
      if (method !== "initialize") return false;
      asked.resolve(() =>
        result({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "late", version: "1" },
        }),
      );
      return true;
    });
    const server = await connector({ url });
    const stop = new AbortController();
    const stopped = server.call("act", {}, told({ signal: stop.signal }).context);
    const waits = server.call("act", {}, told().context);
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ code: "aborted" });
    (await asked.promise)();
    expect(await waits).toBe("done");
  });
});

describe("a server that means harm", () => {
  it("[M13] offers no tool whose name is no name, and none twice", async () => {
    const names = [
      "good",
      "__proto__",
      "bad\u0000name",
      "bad\u001b[31m",
      "",
      " ",
      "a\nb",
      "\u202egnp",
      "x".repeat(129),
      "good",
      "with space",
      7,
    ];
    const { url } = await byHand(
      () => false,
      names.map((name) => ({ name, inputSchema: { type: "object" } })),
    );
    const server = await connector({ url });
    const operations = await server.operations(soon());
    expect(operations.map(({ name }) => name)).toEqual(["good", "with space"]);
  });

  it("[M13] bounds descriptions, and schemas in size and depth", async () => {
    let deep: object = { type: "string" };
    for (let depth = 0; depth < 500; depth++)
      deep = { type: "object", properties: { deeper: deep } };
    const { url } = await byHand(
      () => false,
      [
        { name: "long", description: "y\u001b".repeat(1_400_000), inputSchema: { type: "object" } },
        { name: "deep", inputSchema: deep, outputSchema: deep },
        { name: "wide", inputSchema: { type: "object", description: "z".repeat(1_000_000) } },
        { name: "odd", inputSchema: "none" },
      ],
    );
    const server = await connector({ url });
    const [long, deeper, wide, odd] = await server.operations(soon());
    expect(long?.description.length).toBeLessThan(9_000);
    expect(long?.description).not.toContain("\u001b");
    expect(deeper).toEqual({
      name: "deep",
      description: "",
      input: { type: "object" },
      label: "write",
    });
    expect(wide?.input).toEqual({ type: "object" });
    expect(odd?.input).toEqual({ type: "object" });
  });

  it.each(["application/json", "text/event-stream"])(
    "[M13] reads no more than it may of an answer as %s",
    async (type) => {
      const { url } = await byHand(({ method, id }, { raw }) => {
        if (method !== "tools/call") return false;
        const answer = { content: [{ type: "text", text: "x".repeat(3_000_000) }] };
        const body = JSON.stringify({ jsonrpc: "2.0", id, result: answer });
        raw.writeHead(200, { "content-type": type });
        raw.end(type === "application/json" ? body : `data: ${body}\n\n`);
        return true;
      });
      const server = await connector({ url }, { limitBytes: 1_000_000 });
      await expect(server.call("act", {}, told().context)).rejects.toMatchObject({
        code: "too_large",
        message: expect.stringContaining("1000000"),
      });
    },
  );

  it.each(["application/json", "text/event-stream"])(
    "[M13] parses nothing that is nested too deeply, as %s",
    async (type) => {
      const { url } = await byHand(({ method, id }, { raw }) => {
        if (method !== "tools/call") return false;
        const nested = `${"[".repeat(4_000_000)}${"]".repeat(4_000_000)}`;
        const body = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${nested}}}`;
        raw.writeHead(200, { "content-type": type });
        raw.end(type === "application/json" ? body : `: "\ndata: ${body}\n\n`);
        return true;
      });
      const server = await connector({ url });
      await expect(server.call("act", {}, told().context)).rejects.toMatchObject({
        code: "too_large",
        message: expect.stringContaining("effect is not known"),
      });
    },
  );

  it("[M13] reads many events of a stream that are short, whatever they come to together", async () => {
    const { url } = await byHand(({ method, id, params }, { raw }) => {
      if (method !== "tools/call") return false;
      const progressToken = Object(params?.["_meta"]).progressToken;
      raw.writeHead(200, { "content-type": "text/event-stream" });
      for (let progress = 0; progress < 40; progress++) {
        const told = { progressToken, progress, message: "m".repeat(50_000) };
        raw.write(
          `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: told })}\n\n`,
        );
      }
      raw.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: done })}\n\n`);
      return true;
    });
    const server = await connector({ url }, { limitBytes: 500_000 });
    const { context, progress } = told();
    expect(await server.call("act", {}, context)).toBe("done");
    expect(progress).toHaveLength(40);
    expect(progress[0]?.length).toBeLessThan(600);
  });

  it("[M13] takes a list whose pages never end for a failure", async () => {
    const { url } = await byHand(({ method, params }, { result }) => {
      if (method !== "tools/list") return false;
      const page = Number(params?.["cursor"] ?? 0);
      result({
        tools: [{ name: `tool_${page}`, inputSchema: { type: "object" } }],
        nextCursor: String(page + 1),
      });
      return true;
    });
    const server = await connector({ url });
    await expect(server.operations(soon())).rejects.toMatchObject({ name: "OperationError" });
  });
});
