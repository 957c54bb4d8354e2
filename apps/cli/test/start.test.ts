import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { kindsOf, StartedHost } from "./host.ts";
import { Home } from "./process.ts";

test("[K5] start --json says url and token in its first line, listens by then, and puts nothing else on stdout", async () => {
  await using home = await Home.make();
  const host = await StartedHost.start(home, await writeAgent(home));
  const nonce = "a-nonce-of-this-test";
  const health = await fetch(new URL(`/health?challenge=${nonce}`, host.url));
  const proof = createHmac("sha256", host.token).update(nonce).digest("hex");
  expect({ status: health.status, body: await health.json() }).toMatchObject({
    status: 200,
    body: { status: "ok", proof },
  });
  expect((await host.ask("/agents")).status).toBe(200);
  expect(await host.running.stop()).toBe(0);
  expect(host.running.stdout.split("\n")).toHaveLength(2);
});

test("[K6] start says where it listens, which model answers and that demo is none, what hinders tools, and what to type next", async () => {
  await using home = await Home.make();
  const running = home.start(["start", await writeAgent(home), "--port", "0"]);
  await running.until(({ stderr }) => /lichen invoke/.exec(stderr) ?? undefined);
  const { stderr, stdout } = running;
  expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
  expect(stderr).toMatch(/demo.* no language model/i);
  expect(stderr).toContain("ANTHROPIC_API_KEY");
  expect(stderr).toMatch(/sandbox: /);
  expect(stdout).toBe("");
});

test("[K6] start says what stands around the programs of an agent without coding tools", async () => {
  await using home = await Home.make();
  const config = (connections: string) =>
    `export default { codingTools: false, sandbox: "off"${connections} };`;
  for (const [connections, told] of [
    ["", "runs no programs"],
    [', connections: { shut: { kind: "mcp", command: "false" } }', "run as you"],
  ] as const) {
    const dir = await writeAgent(home, { "lichen.config.ts": config(connections) });
    const running = home.start(["start", dir, "--port", "0"]);
    await running.until(({ stderr }) => /sandbox: .*\n/.exec(stderr) ?? undefined);
    expect(running.stderr).toContain(told);
    expect(await running.stop()).toBe(0);
  }
});

test("[K11] a second start on the same state is refused with the holder's name, and the first goes on", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir);
  const second = await home.run(["start", dir, "--port", "0", "--json"]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toContain(`process ${host.running.child.pid}`);
  expect(second.stderr).toContain(host.url);
  expect((await host.ask("/agents")).status).toBe(200);
});

test("[K17] a port that is taken is named with its holder, and a free one is used", async () => {
  await using home = await Home.make();
  const holder = createServer((_request, response) => response.end("not a host"));
  await new Promise<void>((resolve) => void holder.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = holder.address() as AddressInfo;
    const dir = await writeAgent(home);
    const running = home.start(["start", dir, "--port", String(port), "--json"]);
    const { url } = JSON.parse(await running.firstLine()) as { url: string };
    expect(new URL(url).port).not.toBe(String(port));
    await running.until(({ stderr }) => /port \d+ is taken by .+/.exec(stderr) ?? undefined);
    expect(running.stderr).toMatch(
      new RegExp(`port ${port} is taken by [^ ]*node[^ ]* \\(process ${process.pid}\\)`),
    );
  } finally {
    holder.close();
  }
});

test("[K13] SIGTERM lets no run hold it up: it drains, takes back host.json and ends with 0 within ten seconds", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: [{ parts: [{ gate: "never" }] }] });
  const host = await StartedHost.start(home, dir, ["--state", home.path("state")]);
  const path = `/agents/${await host.agent()}/sessions/s/commands`;
  expect((await host.ask(path, { type: "prompt", requestId: "r1", text: "wait" })).status).toBe(
    202,
  );
  await provider.atGate("never");
  expect(existsSync(home.path("state", "host.json"))).toBe(true);
  const before = performance.now();
  expect(await host.running.stop("SIGTERM")).toBe(0);
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(existsSync(home.path("state", "host.json"))).toBe(false);
});

test("[K12] what a killed host had accepted is answered after the next start, once and whole", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [{ text: "half an ans" }, { gate: "killed" }, { text: "wer" }] }],
    then: "the whole answer",
  });
  const first = await StartedHost.start(home, dir);
  const agent = await first.agent();
  const prompt = { type: "prompt", requestId: "r1", text: "go" };
  const accepted = await first.ask(`/agents/${agent}/sessions/s/commands`, prompt);
  const { commandId } = (await accepted.json()) as { commandId: string };
  await provider.atGate("killed");
  await first.running.stop("SIGKILL");

  const second = await StartedHost.start(home, dir);
  const settlement = await second.ask(
    `/agents/${agent}/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
  );
  expect(await settlement.json()).toMatchObject({
    terminal: "completed",
    answer: "the whole answer",
  });
  const kinds = kindsOf(await second.entries("s"));
  for (const kind of ["command.queued", "message.user", "message.assistant", "run.settled"]) {
    expect(kinds.filter((it) => it === kind)).toEqual([kind]);
  }
  const again = await second.ask(`/agents/${agent}/sessions/s/commands`, prompt);
  expect(await again.json()).toMatchObject({ commandId, replay: true });
  expect(await provider.requests()).toBe(2);
});

test("[K15] .secrets/.env of the folder counts, and the real environment wins over it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    ".secrets/.env": "ECHO=from-file\nLICHEN_MODEL=scripted/one\n",
  });
  await Provider.start(home, dir, { steps: [], then: "scripted" });
  await mkdir(home.path("agent", "tools"));
  await writeFile(
    home.path("agent", "tools", "echo.ts"),
    `import { defineTool, z } from "lichen";
export default defineTool({ description: "Echoes.", input: z.object({}), label: "read", execute: () => process.env["ECHO"] });\n`,
  );
  expect(await home.run(["invoke", "hello", dir])).toMatchObject({ code: 0, stdout: "scripted\n" });
  const demo = { env: { LICHEN_MODEL: "demo" } };
  const fromFile = await home.run(["invoke", "use the echo tool", dir], demo);
  expect(fromFile.stdout).toContain("from-file");
  const fromOutside = await home.run(["invoke", "use the echo tool", dir], {
    env: { LICHEN_MODEL: "demo", ECHO: "from-outside" },
  });
  expect(fromOutside.stdout).toContain("from-outside");
});

test("[K15] LICHEN_STATE_DIR names the state, and --state wins over it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const env = { LICHEN_STATE_DIR: home.path("one") };
  const host = await StartedHost.start(home, dir, [], { env });
  expect((await readFile(home.path("one", "token"), "utf8")).trim()).toBe(host.token);
  const other = await StartedHost.start(home, dir, ["--state", home.path("two")], { env });
  expect((await readFile(home.path("two", "token"), "utf8")).trim()).toBe(other.token);
});

test("[K16] dev says what changed in the folder and what is wrong with it, and the next turn has it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const running = home.start(["dev", dir, "--port", "0"]);
  await running.until(({ stderr }) => /lichen invoke/.exec(stderr) ?? undefined);
  await mkdir(home.path("agent", "tools"), { recursive: true });
  const tool = (answer: string) =>
    `import { defineTool, z } from "lichen";
export default defineTool({ description: "Says where we are.", input: z.object({}), label: "read", execute: () => ${answer} });\n`;
  await writeFile(home.path("agent", "tools", "whereabouts.ts"), tool(`"on the rock"`));
  await running.until(({ stderr }) => /whereabouts/.exec(stderr) ?? undefined);
  const first = await home.run(["invoke", "use the whereabouts tool", dir]);
  expect(first.stdout).toContain("on the rock");
  await writeFile(home.path("agent", "tools", "whereabouts.ts"), tool(`"by the sea"`));
  await running.until(({ stderr }) => /whereabouts[^]*whereabouts/.exec(stderr) ?? undefined);
  const second = await home.run(["invoke", "use the whereabouts tool", dir]);
  expect(second.stdout).toContain("by the sea");
  await writeFile(home.path("agent", "tools", "whereabouts.ts"), "export default 1;\n");
  await running.until(({ stderr }) => /error.*whereabouts\.ts/.exec(stderr) ?? undefined);
  // What is known is not told again with each change, nor by the next turn; what is new is.
  await writeFile(home.path("agent", "persona.md"), "You answer.\n");
  await running.until(({ stderr }) => /changed: persona\.md/.exec(stderr) ?? undefined);
  await home.run(["invoke", "hello", dir]);
  await writeFile(home.path("agent", "tools", "other.ts"), "export default 1;\n");
  await running.until(({ stderr }) => /error.*other\.ts/.exec(stderr) ?? undefined);
  expect(running.stderr.match(/error.*whereabouts\.ts/g)).toHaveLength(1);
});

test("[K3] a folder that is no agent, and a config that cannot be used, are refused with one plain sentence", async () => {
  await using home = await Home.make();
  await mkdir(home.path("empty"));
  for (const command of [
    ["start", "empty"],
    ["dev", "empty"],
    ["info", "empty"],
    ["invoke", "x", "empty"],
  ]) {
    const { code, stdout, stderr } = await home.run(command);
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: "" });
    expect(stderr).toMatch(/^lichen: .*lichen init/);
    expect(stderr).not.toMatch(/^\s+at /m);
  }
  const dir = await writeAgent(home, { "lichen.config.ts": "export default { modle: 1 };\n" });
  const { code, stderr } = await home.run(["start", dir]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^lichen: lichen\.config\.ts: .*did you mean "model"/);
});
