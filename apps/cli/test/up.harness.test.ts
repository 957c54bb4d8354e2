// A newcomer at the command line with the real coding agents: pi and Claude Code, each asking a provider of the tests' own.

import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Script, type ScriptedProvider, startScriptedProvider } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { bin, Home, repository } from "./process.ts";
import { Terminal } from "./terminal.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 300_000 };

async function providerOf(script: Script): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider({ script, rules: "none" });
  onTestFinished(() => provider.close());
  return provider;
}

/** What both harnesses find in a newcomer's home, and the variables of their shell. */
async function furnished(home: Home, url: string): Promise<Record<string, string>> {
  const models = ["scripted-1", "scripted-2"].map((id) => ({
    ...{ id, contextWindow: 100_000, maxTokens: 8_000 },
  }));
  const scripted = { baseUrl: url, api: "anthropic-messages", apiKey: "made-up", models };
  const settings = { defaultProvider: "scripted", defaultModel: "scripted-1" };
  await mkdir(home.path(".pi/agent"), { recursive: true });
  await mkdir(home.path("work"));
  await writeFile(home.path(".pi/agent/models.json"), JSON.stringify({ providers: { scripted } }));
  await writeFile(home.path(".pi/agent/settings.json"), JSON.stringify(settings));
  return {
    PATH: [join(repository, "test/harnesses/node_modules/.bin"), process.env["PATH"]].join(
      delimiter,
    ),
    PI_OFFLINE: "1",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "sk-made-up-for-tests",
    DISABLE_TELEMETRY: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

test(
  "[UP15] up, new, send and log work with pi as a newcomer types them; a host killed in mid-turn answers once after its next start",
  slow,
  async () => {
    await using home = await Home.make();
    const provider = await providerOf([
      "Hello, newcomer.",
      { parts: [{ text: "half an ans" }, { gate: "killed" }, { text: "wer" }] },
      "The whole answer.",
    ]);
    const env = await furnished(home, provider.url);
    const cwd = home.path("work");
    const first = await StartedMachine.start(home, [], { env });
    const made = await home.run(["new", "demo", ".", "--harness", "pi"], { cwd });
    expect(made).toMatchObject({ code: 0, stdout: "demo\n" });
    const sent = await home.run(["send", "demo", "Who am I?", "--wait"], { cwd });
    expect(sent).toMatchObject({ code: 0, stdout: "Hello, newcomer.\n" });
    const log = await home.run(["log", "demo"], { cwd });
    expect(log.stdout).toBe("> Who am I?\nHello, newcomer.\n= the run is done\n");

    const kept = await home.run(["send", "demo", "And now?"], { cwd });
    expect(kept.stdout).toMatch(/^cmd_\w+\n$/);
    await provider.reached("killed");
    await first.running.stop("SIGKILL");
    await StartedMachine.start(home, [], { env });
    const following = home.start(["log", "demo", "--follow"], { cwd });
    await following.until(({ stdout }) => /The whole answer\.\n= /.exec(stdout) ?? undefined);
    await following.stop("SIGINT");
    expect(following.stdout.match(/^> And now\?$/gm)).toHaveLength(1);
    expect(following.stdout.match(/The whole answer\./g)).toHaveLength(1);
    expect((await home.run(["ps"])).stdout).toMatch(
      /^demo  pi  idle  ~\/work  now  The whole answer\.\n$/,
    );
  },
);

test(
  "[UP29] set gives a session of pi another model from its next turn on, and refuses one that pi does not have",
  slow,
  async () => {
    await using home = await Home.make();
    const provider = await providerOf(["One.", "Two.", "Three."]);
    const env = await furnished(home, provider.url);
    await StartedMachine.start(home, [], { env });
    await home.run(["new", "demo", "work", "--harness", "pi"]);
    expect(await home.run(["send", "demo", "one", "--wait"])).toMatchObject({ stdout: "One.\n" });
    const set = await home.run(["set", "demo", "--model", "scripted/scripted-2"]);
    expect(set).toMatchObject({ code: 0, stdout: "model: scripted/scripted-2\n" });
    const none = await home.run(["set", "demo", "--model", "scripted/scripted-9"]);
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain("pi has no model scripted/scripted-9");
    expect(await home.run(["send", "demo", "two", "--wait"])).toMatchObject({ stdout: "Two.\n" });
    const asked = () => provider.requests.map(({ body }) => (body as { model: string }).model);
    expect((await home.run(["set", "demo"])).stdout).toContain("scripted-2");
    const own = await home.run(["set", "demo", "--model", "default"]);
    expect(own).toMatchObject({ code: 0, stdout: "model: the coding agent's own choice\n" });
    const last = await home.run(["send", "demo", "three", "--wait"]);
    expect(last).toMatchObject({ stdout: "Three.\n" });
    expect(asked()).toEqual(["scripted-1", "scripted-2", "scripted-1"]);
  },
);

test(
  "[UP16] a tool of Claude Code runs once a person allowed it from another terminal, who sees the rule that always would make",
  slow,
  async () => {
    await using home = await Home.make();
    const touch = (file: string) => ({
      parts: [
        { call: { name: "Bash", input: { command: `touch ${file}`, description: "A test" } } },
      ],
    });
    const provider = await providerOf([touch("one.txt"), "Made."]);
    const env = await furnished(home, provider.url);
    await StartedMachine.start(home, [], { env });
    const cwd = home.path("work");
    const made = await home.run(["new", "site", ".", "--harness", "claude"], { cwd });
    expect(made.code).toBe(0);
    const sending = home.start(["send", "site", "Make it", "--wait"], { cwd });
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const list = await home.run(["approve"], { cwd });
    expect(list.stdout).toContain("touch one.txt");
    expect(list.stdout).toMatch(/always would allow: Bash\(touch one\.txt.*\), /);
    expect(existsSync(home.path("work/one.txt"))).toBe(false);
    expect(await home.run(["approve", id, "--always"], { cwd })).toMatchObject({ code: 0 });
    expect((await sending.ended).code).toBe(0);
    expect(sending.stdout).toBe("Made.\n");
    expect(existsSync(home.path("work/one.txt"))).toBe(true);
  },
);

const option = (label: string) => ({ label, description: `The ${label} one` });
const questions = [
  {
    ...{ question: "Which color?", header: "Color", multiSelect: false },
    options: [option("Red"), option("Blue")],
  },
  {
    ...{ question: "Which sizes?", header: "Sizes", multiSelect: true },
    options: [option("Small"), option("Large")],
  },
];
const asks = { parts: [{ call: { name: "AskUserQuestion", input: { questions } } }] };

test(
  "[K120] two questions of Claude Code are answered on one line, and it reads both answers",
  slow,
  async () => {
    await using home = await Home.make();
    const provider = await providerOf([asks, "Noted."]);
    const env = await furnished(home, provider.url);
    await StartedMachine.start(home, [], { env });
    const cwd = home.path("work");
    await home.run(["new", "site", ".", "--harness", "claude"], { cwd });
    const sending = home.start(["send", "site", "Ask me", "--wait"], { cwd });
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const alone = await home.run(["approve", id, "--message", "Blue"], { cwd });
    expect(alone).toMatchObject({ code: 2, stdout: "" });
    expect(alone.stderr).toContain('--answer 1="…" --answer 2="…"');
    const both = ["--answer", "1=blue", "--answer", "Sizes=Small, Large"];
    expect(await home.run(["approve", id, ...both], { cwd })).toMatchObject({ code: 0 });
    expect((await sending.ended).code).toBe(0);
    expect(sending.stdout).toBe("Noted.\n");
    const told = JSON.stringify(provider.requests.at(-1)?.body);
    expect(told).toContain('\\"Which color?\\"=\\"Blue\\"');
    expect(told).toContain('\\"Which sizes?\\"=\\"Small, Large\\"');
  },
);

test(
  "[K123] what is no answer to a question of Claude Code is told at the terminal, and asked for again",
  slow,
  async () => {
    await using home = await Home.make();
    const provider = await providerOf([asks, "Noted."]);
    const env = { HOME: home.dir, ...(await furnished(home, provider.url)) };
    await StartedMachine.start(home, [], { env });
    const cwd = home.path("work");
    await home.run(["new", "site", ".", "--harness", "claude"], { cwd });
    const args = [bin, "send", "site", "Ask me", "--wait"];
    await using terminal = await Terminal.open({ command: process.execPath, args, cwd, env });
    await terminal.until(/1\. Red[^]*own words:/);
    await terminal.type("2");
    await terminal.press("Enter");
    await terminal.until(/1\. Small[^]*with commas between/);
    await terminal.press("Enter");
    await terminal.until(/nothing answers "Which sizes\?"[^]*1\. Red[^]*own words:/);
    await terminal.type("blue");
    await terminal.press("Enter");
    await terminal.until(/nothing answers[^]*1\. Small[^]*with commas between/);
    await terminal.type("2");
    await terminal.press("Enter");
    await terminal.until("Noted.");
    expect(await terminal.exitCode()).toBe(0);
  },
);
