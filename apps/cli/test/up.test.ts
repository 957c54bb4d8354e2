import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { writeAgent } from "./agent.ts";
import { echoAgent, StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

const echo = ["--", process.execPath, echoAgent];

test(
  "[UP1] up says url and token in its first line, serves the machine's routes and the host's, and drains at SIGTERM",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    const statuses = await Promise.all(
      ["/health", "/agents", "/v1/sessions", "/v1/harnesses", "/v1/devices"].map(
        async (path) => (await machine.ask(path)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect(await (await fetch(new URL("/v1/sessions", machine.url))).json()).toMatchObject({
      code: "unauthenticated",
    });
    const state = home.path(".local/share/lichen/machine");
    expect(existsSync(`${state}/host.json`)).toBe(true);
    const second = await home.run(["up", "--port", "0"]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain(`process ${machine.running.child.pid} at ${machine.url}`);
    expect(await machine.running.stop("SIGTERM")).toBe(0);
    expect(existsSync(`${state}/host.json`)).toBe(false);
    expect(machine.running.stdout.split("\n")).toHaveLength(2);
  },
);

test(
  "[UP1] up says which coding agents are missing and how to get them, whether a wall stands, and what to type next",
  slow,
  async () => {
    await using home = await Home.make();
    const running = home.start(["up", "--port", "0"], { env: { PATH: "/usr/bin:/bin" } });
    await running.until(({ stderr }) => /lichen new demo/.exec(stderr) ?? undefined);
    expect(running.stderr).toMatch(/listens on http:\/\/127\.0\.0\.1:\d+/);
    expect(running.stderr).toMatch(/Claude Code is not on this machine: install it/);
    expect(running.stderr).toMatch(/pi is not on this machine: install it/);
    expect(running.stderr).toMatch(/sandbox: (bubblewrap hides|none\. .* not a wall)/);
    expect(running.stdout).toBe("");
  },
);

test.for([
  [["ps"]],
  [["new", "demo"]],
  [["log", "demo"]],
  [["restart", "demo"]],
  [["rename", "demo", "other"]],
  [["set", "demo", "--star", "on"]],
  [["rm", "demo", "--yes"]],
  [["send", "demo", "hello", "--machine"]],
])("[UP3] %j without a machine is refused with the way to start one", slow, async ([args]) => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await home.run(args!);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^lichen: No machine runs on this computer\. Start it with `lichen up`/);
  expect(existsSync(home.path(".local/share/lichen"))).toBe(false);
});

test.for([[["send", "demo", "hello"]], [["cancel", "demo"]], [["approve"]]])(
  "[UP3] %j where neither an agent nor a machine is says how to get either",
  slow,
  async ([args]) => {
    await using home = await Home.make();
    const { code, stdout, stderr } = await home.run(args!);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/holds no agent: .*lichen init.*`lichen up` starts its machine/);
    expect(existsSync(home.path(".local/share/lichen"))).toBe(false);
  },
);

test("[UP3] with a state that is named the refusal names it", slow, async () => {
  await using home = await Home.make();
  const { code, stderr } = await home.run(["ps", "--state", "elsewhere"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /No machine runs on this computer with its state in elsewhere\. .*`lichen up --state elsewhere`.*`lichen service install --state elsewhere`/,
  );
});

test(
  "[UP4] new makes a session and its directory, says what to type next, and refuses what cannot be without leaving anything",
  slow,
  async () => {
    await using home = await Home.make();
    await StartedMachine.start(home);
    await mkdir(home.path("work"));
    const cwd = home.path("work");
    const made = await home.run(["new", "demo", "made/here", ...echo], { cwd });
    expect(made).toMatchObject({ code: 0, stdout: "demo\n" });
    expect(made.stderr).toContain('lichen send demo "…" --wait');
    expect(await readdir(home.path("work/made"))).toEqual(["here"]);
    const json = await home.run(["new", "two", "~/two", "--json", ...echo]);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "two", dir: home.path("two") });

    const refused: [readonly string[], number, RegExp][] = [
      [["new", "demo", "x", ...echo], 1, /There is a session "demo" already/],
      [["new", "-- no", "x"], 2, /option/],
      [["new", "a/b", "x", ...echo], 1, /name: letters, digits/],
      [["new", "x", "x", "--harness", "what"], 1, /there is no what on this machine/],
      [["new", "x", "x", "--harness", "acp"], 2, /needs the agent's command/],
      [["new", "x", "x", "--harness", "pi", ...echo], 2, /pi has a program of its own/],
      [["new", "x", "x", "--", "no-such-agent"], 1, /no-such-agent is not on this machine/],
      [["new", "x", ".local/share/lichen/machine/x", ...echo], 1, /state of this machine/],
    ];
    for (const [args, code, words] of refused) {
      const { stderr, ...rest } = await home.run(args);
      expect({ args, ...rest }).toEqual({ args, code, stdout: "" });
      expect(stderr).toMatch(words);
    }
    expect(existsSync(home.path("x"))).toBe(false);
  },
);

test("[UP5] ps lists what there is, for people and for programs", slow, async () => {
  await using home = await Home.make();
  const machine = await StartedMachine.start(home);
  expect((await home.run(["ps"])).stderr).toContain("lichen new <name> [dir]");
  await machine.make("demo", home.path("demo"));
  await machine.make("another", home.path("another"));
  const { stdout, code } = await home.run(["ps"]);
  expect(code).toBe(0);
  expect(stdout).toBe("another  acp  idle  ~/another  now\ndemo     acp  idle  ~/demo     now\n");
  const json = JSON.parse((await home.run(["ps", "--json"])).stdout) as { name: string }[];
  expect(json.map(({ name }) => name)).toEqual(["another", "demo"]);
  expect(json[0]).toMatchObject({ state: "idle", harness: "acp", pending: 0, running: false });
});

test("[UP9] sessions are restarted, renamed, and removed once a person said so", slow, async () => {
  await using home = await Home.make();
  const machine = await StartedMachine.start(home);
  const { id } = await machine.make("demo", home.path("demo"));
  expect(await home.run(["send", "demo", "hello", "--wait"])).toMatchObject({ code: 0 });
  expect(await home.run(["restart", "demo"])).toMatchObject({ code: 0 });
  expect(await home.run(["rename", "demo", "site"])).toMatchObject({ code: 0, stdout: "site\n" });
  const list = (await (await machine.ask("/v1/sessions")).json()) as { sessions: object[] };
  expect(list.sessions).toMatchObject([{ name: "site", id }]);
  const gone = await home.run(["restart", "demo"]);
  expect(gone.code).toBe(1);
  expect(gone.stderr).toMatch(/There is no session "demo" on this machine: `lichen ps` lists them/);
  const unsure = await home.run(["rm", "site"]);
  expect(unsure.code).toBe(1);
  expect(unsure.stderr).toContain("say --yes");
  expect(await home.run(["rm", "site", "--yes"])).toMatchObject({ code: 0, stdout: "site\n" });
  expect(await (await machine.ask("/v1/sessions")).json()).toMatchObject({ sessions: [] });
  expect(existsSync(home.path("demo"))).toBe(true);
});

test(
  "[UP29] set shows and changes how a session is run; what waits for a tool is allowed once auto-approve is on",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const all = "auto-approve: off\nkeep-running: off\nstar: off\n";
    const shown = await home.run(["set", "demo"]);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stdout).toBe(`${all}model: the coding agent's own choice\n`);
    const sending = home.start(["send", "demo", "note buy milk", "--wait"]);
    await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const set = await home.run(["set", "demo", "--auto-approve", "on", "--star", "on"]);
    expect(set).toMatchObject({ code: 0, stdout: "auto-approve: on\nstar: on\n" });
    expect((await sending.ended).code).toBe(0);
    expect(sending.stdout).toContain("Noted.");
    const json = await home.run(["set", "demo", "--keep-running", "on", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ name: "demo", auto_approve: true, keep_running: true, starred: true },
    });
    for (const [args, code, words] of [
      [["demo", "--auto-approve", "maybe"], 2, /takes on or off, not "maybe"/],
      [["nobody", "--star", "off"], 1, /There is no session "nobody" on this machine/],
    ] as const) {
      const refused = await home.run(["set", ...args]);
      expect(refused).toMatchObject({ code, stdout: "" });
      expect(refused.stderr).toMatch(words);
    }
  },
);

test(
  "[UP6] a name that is the machine's and the folder's agent's is refused until one of them is said",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const cwd = await writeAgent(home);
    const own = await home.run(["send", "demo", "mine", ".", "--new"], { cwd });
    expect(own.code).toBe(0);
    const both = await home.run(["send", "demo", "whose?"], { cwd });
    expect(both.code).toBe(1);
    expect(both.stderr).toMatch(/Two sessions are called demo: .*--machine.*\(with the folder\)/);
    const its = await home.run(["send", "demo", "yours", "--machine", "--wait"], { cwd });
    expect(its).toMatchObject({ code: 0, stdout: "You said: yours\n" });
    const elsewhere = { cwd: home.path("demo") };
    const other = await home.run(["send", "demo", "hello", "--wait"], elsewhere);
    expect(other).toMatchObject({ code: 0, stdout: "You said: hello\n" });
    const none = await home.run(["send", "nobody", "hello"], elsewhere);
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain('There is no session "nobody" on this machine');
  },
);
