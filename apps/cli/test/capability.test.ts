// `lichen capability` against real servers: with a host that runs, and on the store alone.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AuthorizationServer } from "../../../packages/server/test/auth/authorization-server.ts";
import { writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home, repository } from "./process.ts";

const memory = join(repository, "node_modules/@modelcontextprotocol/server-memory/dist/index.js");

const document = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Garden", version: "1" },
  paths: {
    "/plants": {
      get: { operationId: "listPlants", responses: { 200: { description: "ok" } } },
      post: {
        operationId: "waterPlant",
        description: "Waters a plant.\u001b[31m",
        requestBody: {
          content: {
            "application/json": {
              schema: {
                type: "object",
                properties: { plant: { type: "string" } },
                required: ["plant"],
              },
            },
          },
        },
        responses: { 200: { description: "ok" } },
      },
    },
  },
});

async function garden() {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.authorization ?? "-"}`);
    response.writeHead(200, { "content-type": "application/json" }).end('{"plants":["fern"]}');
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test("[K90] a capability is added, listed, shown, called, renamed and taken away, on the store alone", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const { url, seen } = await garden();
  await writeFile(home.path("garden.json"), document);
  const none = await home.run(["capability", "list", dir]);
  expect(none).toMatchObject({ code: 0, stdout: "" });
  expect(none.stderr).toContain("help capability add");
  const add = [
    "capability",
    "add",
    "openapi",
    dir,
    "--name",
    "garden",
    "--spec",
    home.path("garden.json"),
  ];
  const added = await home.run([
    ...add,
    "--base-url",
    url,
    "--label",
    "waterPlant=confirm",
    "--secret",
    "GARDEN_TOKEN",
  ]);
  expect(added).toMatchObject({ code: 0, stdout: "" });
  expect(added.stderr).toContain("garden is added: 2 operations");
  expect(added.stderr).toContain("GARDEN_TOKEN");
  const secrets = home.path("agent", ".secrets");
  await mkdir(secrets);
  await writeFile(join(secrets, ".env"), "GARDEN_TOKEN=canary-token\n");
  await chmod(join(secrets, ".env"), 0o600);
  const listed = await home.run(["capability", "list", dir]);
  expect(listed.stdout).toMatch(/^garden +openapi +active +2 operations +secret GARDEN_TOKEN/);
  const shown = await home.run(["capability", "show", "garden", dir]);
  expect(shown.stdout).toContain("waterPlant  write, confirm");
  expect(shown.stdout).toContain("waterPlant(");
  expect(shown.stdout).not.toContain("\u001b");
  const called = await home.run(["capability", "call", "garden", "listPlants", dir]);
  expect(called.code).toBe(0);
  expect(JSON.parse(called.stdout)).toEqual({ plants: ["fern"] });
  const input = '{"body":{"plant":"fern"}}';
  const refused = await home.run(["capability", "call", "garden", "waterPlant", input, dir]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("--yes");
  expect(seen).toEqual(["GET Bearer canary-token"]);
  const allowed = await home.run([
    "capability",
    "call",
    "garden",
    "waterPlant",
    input,
    dir,
    "--yes",
  ]);
  expect(allowed.code).toBe(0);
  expect(seen).toHaveLength(2);
  const wrong = await home.run(["capability", "call", "garden", "waterPlants", dir, "--yes"]);
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  expect(wrong.stderr).toContain("did you mean waterPlant?");
  const renamed = await home.run(["capability", "change", "garden", dir, "--name", "yard"]);
  expect(renamed.code).toBe(0);
  const old = await home.run(["capability", "show", "garden", dir]);
  expect(old.stderr).toContain("garden is called yard by now");
  expect((await home.run(["capability", "detach", "yard", dir])).code).toBe(0);
  expect((await home.run(["capability", "list", dir, "--json"])).stdout).toBe("[]\n");
  const gone = await home.run(["capability", "show", "yard", dir]);
  expect(gone.code).toBe(1);
  for (const { stdout, stderr } of [added, listed, shown, called, refused, wrong])
    expect(stdout + stderr).not.toContain("canary-token");
}, 60_000);

test("[K91] with a host that runs, its agent gets what is added at once, and a server that cannot be reached is refused with the reason", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir, ["--model", "demo"]);
  const add = ["capability", "add", "mcp", dir, "--name", "memory", "--", process.execPath, memory];
  expect(await home.run(add)).toMatchObject({ code: 0, stdout: "" });
  const path = `/agents/${await host.agent()}/capabilities`;
  const { capabilities } = (await (await host.ask(path)).json()) as { capabilities: object[] };
  expect(capabilities).toMatchObject([{ namespace: "memory", kind: "mcp", state: "active" }]);
  const read = await home.run(["capability", "call", "memory", "read_graph", dir]);
  expect(JSON.parse(read.stdout)).toEqual({ entities: [], relations: [] });
  const away = await home.run(["capability", "add", "mcp", dir, "--url", "http://127.0.0.1:9/mcp"]);
  expect(away).toMatchObject({ code: 1, stdout: "" });
  expect(away.stderr).toMatch(/127\.0\.0\.1:9.*With --keep it is added all the same/);
  const asked = await home.run(["invoke", "Use the memory_read_graph tool", dir]);
  expect(asked.code).toBe(0);
  expect(asked.stderr).toContain("memory_read_graph");
  expect(await host.running.stop()).toBe(0);
}, 60_000);

test("[K92] a connection of the folder is listed with its file, kept while its server is away, and is taken away there", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "connections/away.ts": `import { defineConnection } from "lichen";\nexport default defineConnection({ kind: "mcp", url: "http://127.0.0.1:9/mcp" });\n`,
    "connections/notes.ts": `import { defineConnection } from "lichen";\nexport default defineConnection({ kind: "files", root: "notes", mode: "write" });\n`,
    "notes/today.md": "water the fern\n",
  });
  await StartedHost.start(home, dir, ["--model", "demo"]);
  await home.run([
    "invoke",
    'Use the notes_write tool with {"path": "new.md", "text": "moss"}',
    dir,
  ]);
  expect(await readFile(home.path("agent/notes/new.md"), "utf8")).toBe("moss");
  const { stdout } = await home.run(["capability", "list", dir, "--json"]);
  expect(JSON.parse(stdout)).toMatchObject([
    {
      namespace: "away",
      state: "requested",
      file: "connections/away.ts",
      problem: { code: expect.any(String) },
    },
    { namespace: "notes", state: "active", operations: 9, file: "connections/notes.ts" },
  ]);
  expect((await home.run(["doctor", dir])).stdout).toMatch(
    /^note +capability +away: .*127\.0\.0\.1:9/m,
  );
  const detach = await home.run(["capability", "detach", "notes", dir]);
  expect(detach.code).toBe(1);
  expect(detach.stderr).toContain("connections/notes.ts");
}, 60_000);

test("[K110] what the folder declares is listed, shown and called before the agent has ever run, its servers waited for", async () => {
  await using home = await Home.make();
  const connection = JSON.stringify({ kind: "mcp", command: process.execPath, args: [memory] });
  const dir = await writeAgent(home, {
    "connections/memory.ts": `export default ${connection};\n`,
  });
  const read = await home.run(["capability", "call", "memory", "read_graph", dir]);
  expect(read.code).toBe(0);
  expect(JSON.parse(read.stdout)).toEqual({ entities: [], relations: [] });
  await mkdir(home.path("agent/notes"));
  await writeFile(
    home.path("agent/connections/notes.ts"),
    `export default { kind: "files", root: "notes" };\n`,
  );
  const { stdout } = await home.run(["capability", "list", dir]);
  expect(stdout).toMatch(
    /^memory +mcp +active +9 operations\nnotes +files +active +4 operations$/m,
  );
}, 60_000);

test("[K111] a label that names no operation is told, and so is a name that was not free", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const add = ["capability", "add", "files", dir, "--root", dir, "--name", "notes"];
  expect((await home.run(add)).stderr).not.toMatch(/label|called/);
  const change = ["capability", "change", "notes", dir, "--label"];
  expect((await home.run([...change, "raed=confirm"])).stderr).toMatch(/no operation raed.*read/);
  const again = await home.run([...add, "--label", "raed=confirm"]);
  expect(again).toMatchObject({ code: 0, stdout: "" });
  expect(again.stderr).toMatch(/no operation raed.*read/);
  expect(again.stderr).toContain("it is called notes2: notes is or was the name of another");
  const help = await home.run(["help", "capability", "add"]);
  // What stands behind a -- is the program's.
  expect(help.stdout).toContain("[dir] [options] [-- command…]");
}, 60_000);

test("[K93] a person signs in at the address that is printed; the next call is sent with it, and the sign-in can be forgotten", async () => {
  await using home = await Home.make();
  await using server = await AuthorizationServer.open();
  const dir = await writeAgent(home);
  await writeFile(home.path("garden.json"), document);
  const add = [
    "capability",
    "add",
    "openapi",
    dir,
    "--name",
    "garden",
    "--spec",
    home.path("garden.json"),
  ];
  const added = await home.run([...add, "--base-url", server.resource, "--oauth"]);
  expect(added.stderr).toContain("lichen capability auth garden");
  const signing = home.start(["capability", "auth", "garden", dir, "--json"]);
  const { url } = JSON.parse(await signing.firstLine()) as { url: string };
  // The browser of a person who says yes.
  const page = await fetch(url, { redirect: "manual" });
  await (await fetch(page.headers.get("location") ?? "")).text();
  expect((await signing.ended).code).toBe(0);
  expect(signing.stdout).toContain('"isRenewable":true');
  const { stdout } = await home.run(["capability", "list", dir]);
  expect(stdout).toContain("signed in");
  expect((await home.run(["capability", "auth", "garden", dir, "--remove"])).code).toBe(0);
  expect((await home.run(["capability", "list", dir])).stdout).toContain("not signed in");
  expect(signing.stdout + signing.stderr + stdout).not.toMatch(/canary/);
}, 60_000);
