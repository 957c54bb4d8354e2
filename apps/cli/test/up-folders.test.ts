import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

const asksFirst = noteTool.replace("description:", "confirm: true,\n  description:");
const saysHeard = { steps: [], then: "Heard." };

test(
  "[UP18] up serves the agents of folders beside coding agents: one address, one token, one store; ps, send and log know both",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await Provider.start(home, dir, saysHeard);
    const machine = await StartedMachine.start(home, [dir]);
    await machine.make("demo", home.path("demo"));
    await machine.running.until(
      ({ stderr }) => /agent agent: agent-\w+, from/.exec(stderr) ?? undefined,
    );

    const listed = await home.run(["ps"]);
    expect(listed.stdout).toMatch(
      /^demo +acp +idle +~\/demo +now\nagent +model +idle +~\/agent +never\n$/,
    );
    const cwd = home.path("demo");
    const before = await home.run(["log", "agent"], { cwd });
    expect(before).toMatchObject({ code: 0, stdout: "" });
    expect(before.stderr).toContain("nothing was said in agent yet");
    const idle = await home.run(["cancel", "agent"], { cwd });
    expect(idle).toMatchObject({ code: 0, stdout: "" });
    expect(idle.stderr).toContain("nothing was said in agent yet");
    const nowhere = await home.run(["log", "agent/nowhere"], { cwd });
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });
    expect(nowhere.stderr).toContain("There is no conversation agent/nowhere: `lichen send");
    const own = await home.run(["send", "demo", "hello", "--wait"], { cwd });
    expect(own).toMatchObject({ code: 0, stdout: "You said: hello\n" });
    const its = await home.run(["send", "agent", "hello", "--wait"], { cwd });
    expect(its).toMatchObject({ code: 0, stdout: "Heard.\n" });
    expect((await home.run(["log", "agent"])).stdout).toBe("> hello\nHeard.\n= the run is done\n");
    const other = await home.run(["send", "agent/other", "hi", "--wait"], { cwd });
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toContain("no conversation agent/other: say --new");
    const begun = await home.run(["send", "agent/other", "hi", "--new", "--wait"], { cwd });
    expect(begun).toMatchObject({ code: 0, stdout: "Heard.\n" });
    expect((await home.run(["ps"])).stderr).toContain("agent has another conversation");
    const json = JSON.parse((await home.run(["ps", "--json"])).stdout) as object[];
    expect(json).toMatchObject([
      { name: "demo", harness: "acp" },
      { name: "agent", harness: "model", session: "main", dir, preview: "Heard.", pending: 0 },
    ]);
    const { agents } = (await (await machine.ask("/agents")).json()) as { agents: object[] };
    expect(agents).toHaveLength(2);
    // In the folder the same conversations are meant, and no host of its own is there.
    const inFolder = await home.run(["send", "main", "again", "--wait"], { cwd: dir });
    expect(inFolder).toMatchObject({ code: 0, stdout: "Heard.\n" });
    const found = await home.run(["sessions", dir]);
    expect(found.stdout.match(/^\w+/gm)).toEqual(["main", "other"]);
    const refused = await home.run(["start", dir, "--port", "0"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /machine serves this agent: `lichen up` starts that.*--without agent-/,
    );
    const ended = await home.run(["rm", "agent", "--yes"]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("agent is the agent of a folder");
    expect(await machine.running.stop("SIGTERM")).toBe(0);
  },
);

test(
  "[UP19] a machine that is killed in mid-turn goes on with folders' agents at its next start, which names none of them",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, {
      steps: [{ parts: [{ gate: "mid" }, { text: "Never told." }] }],
      then: "Heard after all.",
    });
    const first = await StartedMachine.start(home, [dir]);
    const sent = await home.run(["send", "agent", "hello"]);
    expect(sent.code).toBe(0);
    await provider.atGate("mid");
    await first.running.stop("SIGKILL");
    // Without a host the store is found all the same.
    const meanwhile = await home.run(["sessions", dir]);
    expect(meanwhile.stdout).toMatch(/^main /);
    await StartedMachine.start(home);
    const following = home.start(["log", "agent", "--follow"]);
    await following.until(
      ({ stdout }) => /Heard after all\.\n= the run is done/.exec(stdout) ?? undefined,
    );
    expect(following.stdout.match(/^> hello$/gm)).toHaveLength(1);
  },
);

test(
  "[UP18] approve lists and answers what a folder's agent asks beside what coding agents do, from anywhere",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": asksFirst });
    await Provider.start(home, dir, {
      steps: [{ parts: [{ call: { name: "note", input: { text: "milk" } } }] }],
      then: "Noted.",
    });
    const machine = await StartedMachine.start(home, [dir]);
    await machine.make("demo", home.path("demo"));
    const cwd = home.path("demo");
    const coding = home.start(["send", "demo", "note this", "--wait"], { cwd });
    await coding.until(({ stderr }) => /lichen approve apr_/.exec(stderr) ?? undefined);
    const folder = home.start(["send", "agent", "note milk", "--wait"], { cwd });
    await folder.until(({ stderr }) => /lichen approve apr_/.exec(stderr) ?? undefined);
    for (const where of [cwd, dir]) {
      const { stdout } = await home.run(["approve"], { cwd: where });
      expect(stdout.match(/session (\w+)/g)?.sort()).toEqual(["session agent", "session demo"]);
    }
    const one = JSON.parse(
      (await home.run(["approve", "--json", "--session", "agent"])).stdout,
    ) as {
      approval: { approvalId: string };
    }[];
    expect(one).toHaveLength(1);
    const answered = await home.run(["approve", one[0]!.approval.approvalId], { cwd });
    expect(answered).toMatchObject({ code: 0, stdout: "Noted.\n" });
    expect((await folder.ended).code).toBe(0);
    expect(await readFile(join(dir, "notes.txt"), "utf8")).toBe("milk\n");
  },
);

test(
  "[UP18] each agent has the variables of its own folder, and a coding agent has none of them",
  slow,
  async () => {
    await using home = await Home.make();
    const told = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Tells.",
  input: z.object({}),
  execute: () => "it is " + process.env.MADE_UP_KEY,
});
`;
    const dir = await writeAgent(home, {
      "tools/tell.ts": told,
      ".secrets/.env": "MADE_UP_KEY=folders-own\n",
    });
    await Provider.start(home, dir, {
      steps: [{ parts: [{ call: { name: "tell", input: {} } }] }],
      then: "Told.",
    });
    const machine = await StartedMachine.start(home, [dir]);
    const shown = home.path("environment.txt");
    const program = home.path("env.sh");
    await writeFile(program, `#!/bin/sh\nenv > ${shown}\n`, { mode: 0o755 });
    await mkdir(home.path("demo"));
    const body = { name: "demo", dir: home.path("demo"), harness: "acp", command: [program] };
    expect((await machine.ask("/v1/sessions", body)).status).toBe(201);
    expect((await home.run(["send", "agent", "tell", "--wait"])).stdout).toBe("Told.\n");
    const { stdout } = await home.run(["log", "agent", "--json"]);
    expect(stdout).toContain("it is folders-own");
    await home.run(["send", "demo", "hello", "--wait"]);
    expect(await readFile(shown, "utf8")).not.toContain("folders-own");
  },
);

test(
  "[UP20] a folder that cannot be served is told of and keeps nothing else from it; one that is named is a refusal; --without lets one go",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const state = home.path(".local/share/lichen/machine");
    for (const [args, words] of [
      [
        [home.path("nowhere")],
        /There is no folder ".*nowhere"\. What stands behind `up` are folders/,
      ],
      [["--without", "nobody"], /serves no agent nobody\. It serves no folder's agent at all/],
    ] as const) {
      const refused = await home.run(["up", "--port", "0", ...args]);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(words);
    }
    expect(existsSync(state)).toBe(false);
    const first = await StartedMachine.start(home, [dir]);
    const busy = await home.run(["up", "--port", "0", dir]);
    expect(busy.stderr).toContain("served already");
    await first.running.stop("SIGTERM");

    await appendFile(join(dir, "lichen.config.ts"), "this is no code");
    const broken = await home.run(["up", "--port", "0", dir]);
    expect(broken).toMatchObject({ code: 1, stdout: "" });
    const second = await StartedMachine.start(home);
    await second.running.until(
      ({ stderr }) => /warn: agent agent is not served: /.exec(stderr) ?? undefined,
    );
    expect((await home.run(["ps"])).code).toBe(0);
    const { stdout } = await home.run(["doctor"]);
    expect(stdout).toMatch(/note +agent agent +this machine keeps it and does not serve it/);
    await second.running.stop("SIGTERM");

    await rename(dir, home.path("moved"));
    const third = await StartedMachine.start(home);
    await third.running.until(
      ({ stderr }) => /warn: agent agent is not served: .*not there/.exec(stderr) ?? undefined,
    );
    await third.running.stop("SIGTERM");
    const fourth = await StartedMachine.start(home, ["--without", "agent"]);
    await fourth.running.until(({ stderr }) => /state: /.exec(stderr) ?? undefined);
    expect(fourth.running.stderr).not.toContain("not served");
    expect(JSON.parse(await readFile(join(state, "agents.json"), "utf8"))).toEqual({ agents: [] });
  },
);

test("[UP20] an agent that `lichen start` serves is not served twice", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir);
  const refused = await home.run(["up", "--port", "0", dir]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`agent is served already, by process ${host.running.child.pid}`);
  await host.running.stop("SIGTERM");
  const machine = await StartedMachine.start(home, [dir]);
  const told = await machine.running.until(
    ({ stderr }) => /kept of it are not here: reach them with (--state \S+)/.exec(stderr)?.[1],
  );
  const earlier = await home.run(["sessions", dir, ...told.split(" ")]);
  expect(earlier).toMatchObject({ code: 0, stdout: "" });
});
