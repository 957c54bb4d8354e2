// What was wrong with a capability and has been mended counts, with a host that runs and without.

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const spec = {
  openapi: "3.1.0",
  info: { title: "Garden", version: "1" },
  paths: { "/plants": { get: { operationId: "plants", responses: { 200: { description: "" } } } } },
};

/** A service that tells what authorised the call, backwards: secrets that come back as they are are taken out. */
async function garden(): Promise<string> {
  const server = createServer((request, response) => {
    const said = (request.headers.authorization ?? "none").split("").toReversed().join("");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ said }));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("[K112] a secret that is changed in .secrets/.env counts from the next call of a host that runs, and is refused where others may read it", async () => {
  await using home = await Home.make();
  const connection = {
    kind: "openapi",
    baseUrl: await garden(),
    spec,
    auth: { type: "header", secret: "GARDEN_TOKEN" },
  };
  const dir = await writeAgent(home, {
    "connections/garden.ts": `export default ${JSON.stringify(connection)};\n`,
    ".secrets/.env": "GARDEN_TOKEN=first-token\n",
  });
  await chmod(home.path("agent/.secrets/.env"), 0o600);
  await StartedHost.start(home, dir, ["--model", "demo"]);
  const call = ["capability", "call", "garden", "plants", dir];
  expect((await home.run(call)).stdout).toContain("nekot-tsrif");
  await writeFile(home.path("agent/.secrets/.env"), "GARDEN_TOKEN=second-token\n");
  expect((await home.run(call)).stdout).toContain("nekot-dnoces");
  await chmod(home.path("agent/.secrets/.env"), 0o644);
  const open = await home.run(call);
  expect(open).toMatchObject({ code: 1, stdout: "" });
  expect(open.stderr).toContain("chmod 600 .secrets/.env");
  const doctor = await home.run(["doctor", dir]);
  expect(doctor.stdout).toMatch(/^fail +secrets +.*chmod 600/m);
}, 120_000);

test("[K113] a capability that could not be had is tried again by the next command, and by refresh in a host that runs", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "connections/notes.ts": `export default { kind: "files", root: "notes" };\n`,
  });
  const byHand = ["capability", "add", "files", dir, "--root", home.path("kept"), "--keep"];
  expect((await home.run([...byHand, "--name", "kept"])).code).toBe(0);
  const list = ["capability", "list", dir];
  expect((await home.run(list)).stdout).toMatch(
    /^kept +files +requested.*\nnotes +files +requested/,
  );
  await mkdir(home.path("agent/notes"));
  expect((await home.run(list)).stdout).toMatch(/^kept +files +requested.*\nnotes +files +active/);
  await StartedHost.start(home, dir, ["--model", "demo"]);
  const refresh = ["capability", "refresh", "kept", dir];
  const away = await home.run(refresh);
  expect(away).toMatchObject({ code: 1, stdout: "" });
  expect(away.stderr).toContain("folder");
  await mkdir(home.path("kept"));
  const mended = await home.run(refresh);
  expect(mended).toMatchObject({ code: 0, stdout: "" });
  expect(mended.stderr).toContain("kept lends 4 operations");
}, 120_000);

test("[K113] one whose secret is put in place is tried again by capability auth", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const add = [
    "capability",
    "add",
    "mcp",
    dir,
    "--url",
    await garden(),
    "--name",
    "late",
    "--keep",
  ];
  expect((await home.run([...add, "--secret", "LATE_TOKEN"])).stderr).toContain("LATE_TOKEN=…");
  const auth = ["capability", "auth", "late", dir];
  expect((await home.run(auth)).stderr).toMatch(/LATE_TOKEN is missing/);
  await mkdir(home.path("agent/.secrets"), { mode: 0o700 });
  await writeFile(home.path("agent/.secrets/.env"), "LATE_TOKEN=late-token\n", { mode: 0o600 });
  // It has what it needs, and is asked for what it lends.
  expect((await home.run(auth)).stderr).toMatch(/secret LATE_TOKEN\n.*does not answer as an MCP/);
}, 120_000);

test("[K114] a label is taken away again, a name that is not free is told, and what the folder declares is changed there", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "connections/own.ts": `export default { kind: "ui" };\n`,
  });
  const add = ["capability", "add", "files", dir, "--root", dir, "--name"];
  expect((await home.run([...add, "notes", "--label", "raed=confirm"])).code).toBe(0);
  const change = ["capability", "change", "notes", dir];
  const unknown = await home.run([...change, "--unlabel", "list"]);
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toContain("raed");
  const mended = await home.run([
    ...change,
    "--unlabel",
    "raed",
    "--label",
    "read=confirm",
    "--json",
  ]);
  const info: unknown = JSON.parse(mended.stdout);
  expect(info).toMatchObject({ labels: { read: "confirm" } });
  expect(info).not.toHaveProperty("labels.raed");
  expect(info).not.toHaveProperty("problem");
  const renamed = await home.run([...change, "--name", "delete"]);
  expect(renamed.stderr).toMatch(/notes is called delete2.*\n.*delete is .*a word of JavaScript/);
  const own = await home.run(["capability", "change", "own", dir, "--name", "mine"]);
  expect(own).toMatchObject({ code: 1, stdout: "" });
  expect(own.stderr).toContain("connections/own.ts");
}, 120_000);

test("[K115] a server that was never reached leaves its name to the next, which is told to be free", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const add = ["capability", "add", "files", dir, "--name", "notes", "--root"];
  const wrong = await home.run([...add, home.path("nowhere")]);
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  expect((await home.run([...add, home.path("nowhere")])).stderr).toContain("notes (files)");
  const right = await home.run([...add, dir]);
  expect(right).toMatchObject({ code: 0, stderr: "notes is added: 4 operations\n" });
}, 120_000);

test("[K116] a connection whose file cannot be used is told by capability commands, and info lists those that can", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "connections/broken.ts": `throw new Error("no such thing");\n`,
    "connections/typo.ts": `export default { kind: "files", root: ".", lables: {} };\n`,
    "connections/notes.ts": `export default { kind: "files", root: "." };\n`,
  });
  const listed = await home.run(["capability", "list", dir]);
  expect(listed.stdout).toMatch(/^notes +files +active +4 operations$/m);
  expect(listed.stderr).toMatch(/connections\/broken\.ts: .*no such thing/);
  expect(listed.stderr).toMatch(
    /connections\/typo\.ts: the connection "typo": "lables" is not a key/,
  );
  const info = await home.run(["info", dir]);
  expect(info.stdout).toMatch(/^connections +notes \(files\)$/m);
}, 120_000);

test("[K117] sessions says how a conversation's newest run was lent the agent's capabilities", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "connections/notes.ts": `export default { kind: "files", root: "." };\n`,
  });
  await home.run(["invoke", "hello", dir, "--model", "demo"]);
  expect((await home.run(["sessions", dir])).stdout).toContain("  4 operations as tools  ");
}, 120_000);

test("[K118] an address that speaks no MCP, and a program that is not there, are told in one sentence", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const add = ["capability", "add", "mcp", dir];
  const web = await home.run([...add, "--url", await garden()]);
  expect(web).toMatchObject({ code: 1, stdout: "" });
  expect(web.stderr).toMatch(/^lichen: .* does not answer as an MCP server does: .*\n$/);
  const none = await home.run([...add, "--", "no-such-program"]);
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toMatch(/^lichen: .*no-such-program .*there is no such program.*\n$/i);
  expect(none.stderr).not.toMatch(/EPIPE|bwrap/);
}, 120_000);

test("[K119] a connection whose server never answers says so, and once its file is mended no turn waits for what it was", async () => {
  await using home = await Home.make();
  const taken: Socket[] = [];
  const isAsked = Promise.withResolvers<void>();
  const silent = createTcpServer((socket) => {
    taken.push(socket.on("error", () => {}));
    isAsked.resolve();
  });
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of taken) socket.destroy();
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`;
  const dir = await writeAgent(home, {
    "connections/notes.ts": `export default ${JSON.stringify({ kind: "mcp", url })};\n`,
  });
  await StartedHost.start(home, dir, ["--model", "demo"]);
  await isAsked.promise;
  expect((await home.run(["capability", "list", dir])).stdout).toMatch(
    /^notes +mcp +requested +0 operations +its server has not answered yet$/m,
  );
  await writeFile(
    home.path("agent/connections/notes.ts"),
    `export default { kind: "files", root: "." };\n`,
  );
  const used = await home.run(["invoke", "Use the notes_list tool", dir]);
  expect(used.stderr).toContain("✓ notes_list");
}, 120_000);
