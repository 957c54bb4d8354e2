// A connection's program behind the wall. Needs a working bubblewrap, and fails without one.

import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openAgent } from "../../src/host/open-agent.ts";
import { TempFolder } from "../folder/temp-folder.ts";

/** Reads and writes what it is told, and says what came of it. */
const program = `
import { createInterface } from "node:readline";
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const tried = (work) => { try { return work(); } catch (error) { return error.code; } };
const does = {
  read: ({ path }) => tried(() => readFileSync(path, "utf8")),
  write: ({ path }) => tried(() => writeFileSync(path, "changed")) ?? "written",
  home: () => { writeFileSync(homedir() + "/kept", "mine"); return homedir(); },
  others: () => tried(() => readFileSync("/proc/" + process.ppid + "/environ", "utf8")),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
  if (method === "initialize") say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "p", version: "1" } } });
  else if (method === "tools/list") say({ id, result: { tools: Object.keys(does).map((name) => ({ name, inputSchema: { type: "object", properties: { path: { type: "string" } } } })) } });
  else if (method === "tools/call") say({ id, result: text(does[params.name](params.arguments)) });
  else if (id !== undefined) say({ id, error: { code: -32601, message: "no" } });
});
`;

test("[D53] the sandbox that a config asks for stands around its connections' programs, as it is when they start", async () => {
  const config = (sandbox: string) =>
    `export default { codingTools: false, sandbox: "${sandbox}" };`;
  using folder = new TempFolder().write({
    "agent/lichen.config.ts": config("off"),
    "agent/program.mjs": program,
    "agent/connections/own.ts": `export default { kind: "mcp", command: ${JSON.stringify(process.execPath)}, args: ["program.mjs"] };`,
    "state/token": "canary-token\n",
  });
  const path = folder.join("state/agent.db");
  const token = { operation: "read", input: { path: folder.join("state/token") } };
  const call = async () => {
    await using opened = await openAgent({
      ...{ dir: folder.join("agent"), path },
      env: (name) => ({ PATH: process.env["PATH"] })[name],
    });
    const { capabilities } = opened.agent;
    while (capabilities.registry.list().length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    await capabilities.refresh("own");
    return await capabilities.call("own", token);
  };
  expect(await call()).toEqual({ ok: true, value: "canary-token\n" });
  folder.write({ "agent/lichen.config.ts": config("require") });
  expect(await call()).toEqual({ ok: true, value: "ENOENT" });
  // Where it cannot be had, nothing starts.
  const before = process.env["PATH"];
  process.env["PATH"] = folder.join("agent");
  try {
    await expect(call()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("The sandbox is required and cannot be had"),
    });
  } finally {
    process.env["PATH"] = before;
  }
});

test("[D52] a connection's program sees no state, no secrets and no host, keeps a home of its own, and changes no code", async () => {
  using folder = new TempFolder().write({
    "agent/lichen.config.ts": `export default { codingTools: false, sandbox: "require" };`,
    "agent/program.mjs": program,
    "agent/tools/own.ts": "export default 1;\n",
    "agent/.secrets/.env": "KEY=canary-secret\n",
    "agent/notes/a.txt": "mine to read\n",
    "agent/connections/own.ts": `export default { kind: "mcp", command: ${JSON.stringify(process.execPath)}, args: ["program.mjs"] };`,
    "state/token": "canary-token\n",
  });
  await using opened = await openAgent({
    dir: folder.join("agent"),
    path: folder.join("state/agent.db"),
    env: (name) => ({ PATH: process.env["PATH"], CANARY: "canary-variable" })[name],
  });
  const { capabilities } = opened.agent;
  while (capabilities.registry.list().length === 0)
    await new Promise((resolve) => setImmediate(resolve));
  await capabilities.refresh("own");
  const call = async (operation: string, path = "") => {
    const answer = await capabilities.call("own", { operation, input: { path } });
    expect(answer).toMatchObject({ ok: true });
    return answer.ok && typeof answer.value === "string" ? answer.value : JSON.stringify(answer);
  };
  expect(await call("read", folder.join("agent/notes/a.txt"))).toBe("mine to read\n");
  for (const hidden of ["state/token", "state/agent.db", "agent/.secrets/.env"])
    expect(await call("read", folder.join(hidden)), hidden).toMatch(/^(ENOENT|EACCES)$/);
  for (const code of ["agent/lichen.config.ts", "agent/tools/own.ts", "agent/connections/own.ts"])
    expect(await call("write", folder.join(code)), code).toMatch(/^(EROFS|EACCES)$/);
  expect(await call("write", folder.join("agent/notes/b.txt"))).toBe("written");
  expect(await call("others")).not.toContain("canary");
  const home = await call("home");
  expect(existsSync(`${home}/kept`)).toBe(true);
});

test("[C28] neither a connection's program nor a folder of files is a way to what its user's computer runs by itself", async () => {
  using folder = new TempFolder().write({
    "agent/lichen.config.ts": `export default { codingTools: false, sandbox: "require" };`,
    "agent/program.mjs": program,
    "agent/connections/own.ts": `export default { kind: "mcp", command: ${JSON.stringify(process.execPath)}, args: ["program.mjs"] };`,
    "agent/connections/home.ts": `export default { kind: "files", root: "../home", mode: "write" };`,
    "home/.profile": "own",
    "home/.config/systemd/user/a.service": "own",
  });
  const before = { HOME: process.env["HOME"], XDG_CONFIG_HOME: process.env["XDG_CONFIG_HOME"] };
  process.env["HOME"] = folder.join("home");
  process.env["XDG_CONFIG_HOME"] = folder.join("home/.config");
  try {
    await using opened = await openAgent({
      dir: folder.join("agent"),
      path: folder.join("state/agent.db"),
      env: (name) => ({ PATH: process.env["PATH"] })[name],
    });
    const { capabilities } = opened.agent;
    while (capabilities.registry.list().length < 2)
      await new Promise((resolve) => setImmediate(resolve));
    await capabilities.refresh("own");
    await capabilities.refresh("home");
    for (const name of [".profile", ".config/systemd/user/a.service", ".config/systemd/user/b"]) {
      const path = folder.join(`home/${name}`);
      const said = await capabilities.call("own", { operation: "write", input: { path } });
      expect(said, name).toEqual({ ok: true, value: "EROFS" });
      const input = { path: name, text: "changed" };
      const wrote = await capabilities.call("home", { operation: "write", input });
      expect(JSON.stringify(wrote), name).toContain("read it and not change it");
      expect(existsSync(path) ? readFileSync(path, "utf8") : "own", name).toBe("own");
    }
    const input = { path: "notes.txt", text: "noted" };
    const noted = await capabilities.call("home", { operation: "write", input });
    expect(noted).toMatchObject({ ok: true });
  } finally {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
});
