// An agent's folder with real servers of every kind, used together by one program that a scripted model writes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type ScriptedProvider, startScriptedProvider, type Step } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { openAgent } from "../../src/host/open-agent.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { modelsJsonOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder } from "../folder/temp-folder.ts";
import { allActive } from "./active.ts";

const modules = join(import.meta.dirname, "../../../../node_modules");
const github = join(modules, "@octokit/openapi/generated/api.github.com.json");
const mcp = (name: string) => join(modules, "@modelcontextprotocol", name, "dist/index.js");

const env = (name: string): string | undefined =>
  ({ PATH: process.env["PATH"], SCRIPTED_KEY: "made-up-key" })[name];

const program = `
  const everything = await over_stdio.get_sum({ a: 2, b: 40 });
  const echo = await over_http.echo({ message: "across" });
  await disk.write_file({ path: ROOT + "/made.txt", content: "by a program" });
  const read = await disk.read_text_file({ path: ROOT + "/made.txt" });
  await memory.create_entities({ entities: [{ name: "Ada", entityType: "person", observations: ["writes programs"] }] });
  const [known, first] = await Promise.all([
    memory.search_nodes({ query: "Ada" }),
    github.repos_get({ owner: "lichen", repo: "rock" }),
  ]);
  const second = await github.issues_create({ owner: "lichen", repo: "rock", body: { title: "Grow" } });
  const found = await capabilities.search({ query: "create an issue", limit: 3 });
  return { everything, echo, read, known: known.entities.length, first: first.full_name, second: second.number, found: found.length > 0 };
`;

test("[D40] one program uses MCP servers over stdio and HTTP, files, a memory and an OpenAPI service, and a token that changes between two of its calls", async () => {
  using folder = new TempFolder();
  const root = folder.join("root");
  const secrets = folder.join("agent/.secrets/.env");
  const service = await openService((token) => {
    writeFileSync(secrets, `GITHUB_TOKEN=${token}\n`);
    chmodSync(secrets, 0o600);
  });
  const provider = await scripted([
    {
      parts: [
        {
          call: {
            name: "execute",
            input: { code: program.replaceAll("ROOT", JSON.stringify(root)) },
          },
        },
      ],
    },
    "All done.",
  ]);
  const run = (name: string, ...args: string[]) =>
    JSON.stringify({ kind: "mcp", command: process.execPath, args: [mcp(name), ...args] });
  folder.write({
    "root/.keep": "",
    "agent/.secrets/.env": "GITHUB_TOKEN=canary-first\n",
    "agent/models.json": modelsJsonOf(provider),
    "agent/lichen.config.ts": `export default {
      model: "${scriptedModel}", codingTools: false,
      connections: {
        over_stdio: ${run("server-everything")},
        over_http: { kind: "mcp", url: "${await everythingOverHttp()}" },
        disk: ${run("server-filesystem", root)},
        memory: { ...${run("server-memory")}, env: { MEMORY_FILE_PATH: "${folder.join("memory.jsonl")}" } },
      },
    };`,
    "agent/connections/github.ts": `
      import { defineConnection } from "lichen";
      export default defineConnection({
        kind: "openapi", spec: ${JSON.stringify(github)}, baseUrl: "${service.url}", safeMethods: "read",
        auth: { type: "header", secret: "GITHUB_TOKEN" },
      });`,
  });
  chmodSync(secrets, 0o600);
  await using opened = await openAgent({
    dir: folder.join("agent"),
    path: folder.join("state/agent.db"),
    env,
  });
  await allActive(opened.agent.capabilities, 5);
  const answer = await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Go." }));
  expect(answer.text).toBe("All done.");
  const result = JSON.stringify(provider.requests[1]?.messages);
  expect(result).toContain("The sum of 2 and 40 is 42.");
  expect(result).toContain("Echo: across");
  expect(result).toContain("by a program");
  for (const part of ["lichen/rock", "known", "1347", "found"]) expect(result).toContain(part);
  expect(readFileSync(join(root, "made.txt"), "utf8")).toBe("by a program");
  // The token changed after the first call: the second call brought the new one.
  expect(service.tokens).toEqual(["Bearer canary-first", "Bearer canary-second"]);
  const info = await opened.agent.session("s").info();
  expect(info.capabilities).toMatchObject({ offered: "execute" });
  // The model knows what there is, and how much of it, in a few lines.
  expect(provider.requests[0]?.system).toMatch(/- github \(1\d\d\d operations\)/);
  // No token is in the log, in a prompt, or in an answer.
  const told = JSON.stringify([await opened.agent.session("s").read(), provider.requests, answer]);
  expect(told).not.toContain("canary-");
}, 120_000);

async function scripted(script: readonly Step[]): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider({ script });
  onTestFinished(() => provider.close());
  return provider;
}

async function everythingOverHttp(): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [mcp("server-everything"), "streamableHttp"], {
    env: { PATH: process.env["PATH"] ?? "", PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for await (const chunk of child.stderr) {
    said += String(chunk);
    if (said.includes(String(port))) break;
  }
  return `http://127.0.0.1:${port}/mcp`;
}

/** A service that speaks a part of GitHub's document; its token changes with the first call. */
async function openService(rotated: (token: string) => void) {
  const tokens: string[] = [];
  let token = "canary-first";
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization ?? "");
    const isKnown = request.headers.authorization === `Bearer ${token}`;
    token = "canary-second";
    rotated(token);
    const body = !isKnown
      ? { message: "Bad credentials" }
      : request.method === "POST"
        ? { number: 1347, title: "Grow" }
        : { full_name: "lichen/rock" };
    response.writeHead(isKnown ? (request.method === "POST" ? 201 : 200) : 401, {
      "content-type": "application/json",
    });
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, tokens };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}
