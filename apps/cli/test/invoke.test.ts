import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { kindsOf, StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const scripted = ["--model", "scripted/one"];
const callsNote = {
  parts: [{ text: "I write." }, { call: { name: "note", input: { text: "hello" } } }],
};

test("[K8] invoke uses the running host; the answer alone is on stdout, tools are on stderr", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  await Provider.start(home, dir, { steps: [callsNote, "Written."] });
  const host = await StartedHost.start(home, dir);
  const { code, stdout, stderr } = await home.run(["invoke", "note hello", dir, "--session", "s"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Written.\n" });
  expect(stderr).toMatch(/→ note \{"text":"hello"\}\n✓ note noted hello\n/);
  expect(kindsOf(await host.entries("s")).at(-1)).toBe("run.settled");
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
});

test("[K9] without a host invoke opens the store itself, and a later host has the conversation", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: ["One.", "Two."] });
  const one = await home.run(["invoke", "first", dir, "--session", "s"]);
  expect(one).toMatchObject({ code: 0, stdout: "One.\n" });
  const two = await home.run(["invoke", "second", dir, "--session", "s"]);
  expect(two).toMatchObject({ code: 0, stdout: "Two.\n" });
  expect(await provider.requests()).toBe(2);
  const host = await StartedHost.start(home, dir);
  const said = (await host.entries("s")).flatMap(({ kind, data }) =>
    kind === "message.user" ? [data["text"]] : [],
  );
  expect(said).toEqual(["first", "second"]);
});

test("[K8] invoke --json prints the settlement as one line, and - reads the message from stdin", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Yes."] });
  const { code, stdout } = await home.run(["invoke", "-", dir, "--json"], {
    input: "from stdin\n",
  });
  expect(code).toBe(0);
  expect(stdout.trimEnd()).not.toContain("\n");
  expect(JSON.parse(stdout)).toMatchObject({ terminal: "completed", answer: "Yes.", toolCalls: 0 });
});

test("[K3] a run that fails ends with 1 and its reason on stderr", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: { refuse: "unauthenticated" } });
  const { code, stdout, stderr } = await home.run(["invoke", "x", dir, ...scripted]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^the run failed: .+/m);
  expect(stderr).not.toContain("made-up");
});

test("[K10] a foreign listener at the recorded address is never sent the token", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Mine." });
  const heard: { url: string | undefined; authorization: string | undefined }[] = [];
  const foreign = createServer((request, response) => {
    heard.push({ url: request.url, authorization: request.headers.authorization });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ status: "ok", wire: 1, features: [], proof: "0".repeat(64) }));
  });
  await new Promise<void>((resolve) => void foreign.listen(0, "127.0.0.1", resolve));
  try {
    const state = ["--state", home.path("state")];
    const host = await StartedHost.start(home, dir, state);
    await host.running.stop("SIGKILL");
    const { port } = foreign.address() as AddressInfo;
    await writeFile(
      home.path("state", "host.json"),
      JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: host.running.child.pid }),
    );
    const { code, stdout, stderr } = await home.run(["invoke", "x", dir, ...state]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Mine.\n" });
    expect(stderr).toContain("is not this agent's host");
    expect(heard).toEqual([
      { url: expect.stringMatching(/^\/health\?challenge=/), authorization: undefined },
    ]);
    expect(JSON.stringify(heard)).not.toContain(host.token);
  } finally {
    foreign.close();
  }
});

test("[K14] Ctrl-C cancels the run and says how it ended", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: [{ parts: [{ gate: "never" }] }] });
  const host = await StartedHost.start(home, dir);
  const running = home.start(["invoke", "wait", dir, "--session", "s"]);
  await provider.atGate("never");
  expect(await running.stop("SIGINT")).toBe(130);
  expect(running.stdout).toBe("");
  expect(running.stderr).toContain("the run was cancelled");
  const last = (await host.entries("s")).at(-1);
  expect(last).toMatchObject({ kind: "run.settled", data: { terminal: "cancelled" } });
});

test("[K14] a second Ctrl-C quits at once, whatever the first one waits for", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: [{ parts: [{ gate: "never" }] }] });
  const host = await StartedHost.start(home, dir);
  const running = home.start(["invoke", "wait", dir, "--session", "s"]);
  await provider.atGate("never");
  // A host that stands still can cancel nothing.
  host.running.child.kill("SIGSTOP");
  running.child.kill("SIGINT");
  await running.until(({ stderr }) => /cancelling/.exec(stderr) ?? undefined);
  expect(await running.stop("SIGINT")).toBe(130);
  host.running.child.kill("SIGCONT");
});

test("[K12] an invoke outlives a kill of its host and prints the answer of the next one, once", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [{ text: "half" }, { gate: "killed" }] }],
    then: "the whole answer",
  });
  const first = await StartedHost.start(home, dir);
  const running = home.start(["invoke", "go", dir, "--session", "s"]);
  await provider.atGate("killed");
  await first.running.stop("SIGKILL");
  const second = await StartedHost.start(home, dir);
  expect(await running.ended).toMatchObject({ code: 0 });
  expect(running.stdout).toBe("the whole answer\n");
  expect(kindsOf(await second.entries("s")).filter((kind) => kind === "message.user")).toHaveLength(
    1,
  );
});

test("[K18] a run that waits for a person who is not there is left waiting, and invoke says so", async () => {
  await using home = await Home.make();
  const tool = noteTool.replace("description:", "confirm: true,\n  description:");
  const dir = await writeAgent(home, { "tools/note.ts": tool });
  await Provider.start(home, dir, { steps: [callsNote, "Written."] });
  const alone = await home.run(["invoke", "note hello", dir, "--session", "s"]);
  expect(alone).toMatchObject({ code: 1, stdout: "" });
  expect(alone.stderr).toMatch(/May the agent call note \{"text":"hello"\}\?/);
  expect(alone.stderr).toMatch(/waits for a person/);
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);

  const host = await StartedHost.start(home, dir);
  const session = `/agents/${await host.agent()}/sessions/s`;
  const { approvals } = (await (await host.ask(session)).json()) as {
    approvals: { approvalId: string; commandId: string }[];
  };
  const [approval] = approvals;
  const { approvalId, commandId } = approval ?? { approvalId: "", commandId: "" };
  const answer = { type: "answer", requestId: "a1", approvalId, allow: true };
  expect((await host.ask(`${session}/commands`, answer)).status).toBe(202);
  const settled = await host.ask(`${session}/settlement?commandId=${commandId}&timeoutMs=30000`);
  expect(await settled.json()).toMatchObject({ terminal: "completed", answer: "Written." });
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
});

test("[K8] away from every agent folder, invoke finds the one host that runs", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Here."] });
  await StartedHost.start(home, dir);
  await mkdir(home.path("elsewhere"));
  const { code, stdout } = await home.run(["invoke", "where?"], { cwd: home.path("elsewhere") });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Here.\n" });
});
