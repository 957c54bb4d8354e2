// Secrets through the whole product, with servers that say back whatever they were sent: nowhere but in their place.

import { readdirSync, readFileSync } from "node:fs";
import { chmodSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startScriptedProvider } from "@lichen/engine/testing";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { openAgent } from "../../src/host/open-agent.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { served } from "../connectors/servers.ts";
import { modelsJsonOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder } from "../folder/temp-folder.ts";

/** Says back what it was authorised with, in every place that an answer has. */
async function openParrot() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    const said = request.headers.authorization ?? request.headers["x-key"] ?? "nothing";
    const told = String(said);
    heard.push(told);
    const status = request.url === "/fails" ? 400 : 200;
    response.writeHead(status, {
      "content-type": "application/json",
      "x-said": told,
      ...(request.url === "/moved" ? { location: `/now?said=${encodeURIComponent(told)}` } : {}),
    });
    response.end(inEverySpelling(told));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

/** JSON that says it as it is, escaped in three ways, encoded in three, and as a name. */
function inEverySpelling(told: string): string {
  const escaped = Array.from(told)
    .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
  const coded = ["", "x", "xx"].map((before) => Buffer.from(before + told).toString("base64"));
  const hex = Buffer.from(told).toString("hex");
  const rest = JSON.stringify([told, encodeURIComponent(told), ...coded, hex, { [told]: told }]);
  return `{"message":"${escaped}","also":"${told.replaceAll("/", "\\/")}","rest":${rest}}`;
}

/** Whether a secret can be read from it, by who decodes what looks encoded. */
function holds(text: string, secret: string): boolean {
  const decoded = text.match(/[A-Za-z0-9+/_-]{12,}/g) ?? [];
  const read = [
    text,
    ...decoded.map((part) => Buffer.from(part, "base64").toString("latin1")),
    ...decoded.map((part) => Buffer.from(part, "hex").toString("latin1")),
  ];
  return read.some((one) => one.includes(secret));
}

const operation = (operationId: string) => ({
  get: { operationId, responses: { 200: { description: "ok" } } },
});
const spec = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Parrot", version: "1" },
  paths: { "/now": operation("now"), "/fails": operation("fails") },
});

const program = `
  const told = [];
  const tried = async (work) => {
    try { told.push(await work()); } catch (error) { told.push([error.code, error.message, error.stack, String(error.cause)]); }
  };
  await tried(() => bearer.now());
  await tried(() => bearer.fails());
  await tried(() => keyed.now());
  await tried(() => keyed.fails());
  await tried(() => parrot.echo());
  await tried(() => parrot.fail());
  await tried(() => own.env());
  console.log(JSON.stringify(told));
  return { told, globals: Object.getOwnPropertyNames(globalThis).length };
`;

/** A program of a connection that tells its whole environment. */
const tellsAll = `
import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
process.stderr.write("my key is " + process.env.KEY + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "p", version: "1" } } });
  else if (method === "tools/list") say({ id, result: { tools: [{ name: "env", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") say({ id, result: { content: [{ type: "text", text: JSON.stringify(process.env) }] } });
  else if (id !== undefined) say({ id, error: { code: -32601, message: "no" } });
});
`;

test("[D50] no secret of a capability is in the log, the store's files, a prompt, an error or a program, whatever its server says back", async () => {
  const parrot = await openParrot();
  const said: string[] = [];
  const { url } = await served((info) => {
    const token = info.requestInfo?.headers.get("authorization") ?? "none";
    const encoded = Buffer.from(`x${token}`).toString("base64");
    said.push(token);
    const server = new McpServer({ name: `parrot ${token}`, version: token });
    const inputSchema = z.strictObject({});
    server.registerTool("echo", { inputSchema, description: `says ${token}` }, async () => ({
      content: [{ type: "text", text: token }],
      structuredContent: { token, [token]: token, encoded },
    }));
    server.registerTool("fail", { inputSchema }, async () => ({
      isError: true,
      content: [{ type: "text", text: `wrong: ${token}` }],
    }));
    return server;
  });
  const provider = await startScriptedProvider({
    script: [{ parts: [{ call: { name: "execute", input: { code: program } } }] }, "Told."],
  });
  onTestFinished(() => provider.close());
  using folder = new TempFolder().write({
    "agent/lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: false, capabilities: { directUpTo: 0 } };`,
    "agent/models.json": modelsJsonOf(provider),
    "agent/program.mjs": tellsAll,
    "agent/.secrets/.env":
      "BEARER=canary-bearer/1+x\nKEYED=canary-keyed-2\nMCP=canary-mcp-3\nPROGRAM=canary-program-4\n",
    "agent/connections/bearer.ts": connection(
      `kind: "openapi", spec: ${spec}, baseUrl: "${parrot.url}", auth: { type: "header", secret: "BEARER" }`,
    ),
    "agent/connections/keyed.ts": connection(
      `kind: "openapi", spec: ${spec}, baseUrl: "${parrot.url}", auth: { type: "header", header: "x-key", secret: "KEYED" }`,
    ),
    "agent/connections/parrot.ts": connection(
      `kind: "mcp", url: "${url}", auth: { type: "header", secret: "MCP" }`,
    ),
    "agent/connections/own.ts": connection(
      `kind: "mcp", command: ${JSON.stringify(process.execPath)}, args: ["program.mjs"], env: { KEY: { secret: "PROGRAM" } }`,
    ),
  });
  chmodSync(folder.join("agent/.secrets/.env"), 0o600);
  const reports: unknown[] = [];
  const opened = await openAgent({
    dir: folder.join("agent"),
    path: folder.join("state/agent.db"),
    env: (name) => ({ PATH: process.env["PATH"], SCRIPTED_KEY: "made-up-key" })[name],
    report: (error) => void reports.push(error),
  });
  const told: unknown[] = [];
  try {
    told.push(await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Go." })));
    const session = opened.agent.session("s");
    told.push(await session.read(), await opened.agent.capabilities.list(), provider.requests);
    for (const { id } of (await opened.agent.capabilities.list()).capabilities) {
      told.push(await opened.agent.capabilities.read(id));
      for (const { name } of (await opened.agent.capabilities.read(id)).operations)
        told.push(await opened.agent.capabilities.call(id, { operation: name }));
    }
  } finally {
    await opened.close();
  }
  // They were used: a test that sends none proves nothing.
  expect(parrot.heard).toEqual(
    expect.arrayContaining(["Bearer canary-bearer/1+x", "canary-keyed-2"]),
  );
  expect(said).toContain("Bearer canary-mcp-3");
  const answers = JSON.stringify(told);
  expect(answers).toContain("program.outcome");
  for (const seen of [
    "bearer.now",
    "keyed.fails",
    "parrot.echo",
    "own.env",
    '\\"KEY\\"',
    "tool_error",
  ])
    expect(answers).toContain(seen);
  for (const secret of ["canary-bearer", "canary-keyed", "canary-mcp", "canary-program"])
    expect(holds(answers, secret), secret).toBe(false);
  expect(JSON.stringify(reports.map(String))).not.toContain("canary-");
  for (const name of readdirSync(folder.join("state")))
    expect(readFileSync(folder.join("state", name)).includes("canary-"), name).toBe(false);
}, 60_000);

function connection(body: string): string {
  return `import { defineConnection } from "lichen";\nexport default defineConnection({ ${body} });\n`;
}

test("[D51] a connection's secret file that others can read is refused, and says what to do without what stands in it", async () => {
  const parrot = await openParrot();
  using folder = new TempFolder().write({
    "agent/lichen.config.ts": "export default { codingTools: false };",
    "agent/.secrets/.env": "BEARER=canary-open\n",
    "agent/connections/bearer.ts": connection(
      `kind: "openapi", spec: ${spec}, baseUrl: "${parrot.url}", auth: { type: "header", secret: "BEARER" }`,
    ),
  });
  chmodSync(folder.join("agent/.secrets/.env"), 0o644);
  await using opened = await openAgent({
    dir: folder.join("agent"),
    path: join(folder.path, "state/agent.db"),
    env: (name) => ({ PATH: process.env["PATH"] })[name],
  });
  const { registry } = opened.agent.capabilities;
  while (registry.list().length === 0) await new Promise((resolve) => setImmediate(resolve));
  await registry.refresh("bearer");
  const answer = await opened.agent.capabilities.call("bearer", { operation: "now" });
  expect(answer).toMatchObject({ ok: false, message: expect.stringContaining("chmod 600") });
  expect(JSON.stringify(answer)).not.toContain("canary-open");
  expect(parrot.heard).toEqual([]);
});
