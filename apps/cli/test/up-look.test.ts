import { expect, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

interface Check {
  readonly name: string;
  readonly level: string;
  readonly text: string;
  readonly fix?: string;
}

async function examined(home: Home, settings?: { env: Record<string, string> }) {
  const { stdout } = await home.run(["doctor", "--json"], settings);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  return { ok, of: (name: string) => checks.find((check) => check.name === name) };
}

test(
  "[UP14] on a machine with neither harness doctor says what is missing and how to get it",
  slow,
  async () => {
    await using home = await Home.make();
    const { ok, of } = await examined(home, { env: { PATH: "/usr/bin:/bin" } });
    expect(ok).toBe(true);
    expect(of("claude")).toMatchObject({
      level: "note",
      text: "Claude Code is not on this machine",
      fix: expect.stringContaining("npm install -g @anthropic-ai/claude-code"),
    });
    expect(of("pi")?.fix).toContain("npm install -g @earendil-works/pi-coding-agent");
    expect(of("agents")?.fix).toContain("--harness acp -- <its command>");
    expect(of("machine")).toMatchObject({ level: "note", fix: "`lichen up` starts it" });
    expect(of("sandbox")).toBeDefined();
  },
);

test(
  "[UP14] doctor says that the machine runs and which of its sessions waits for a person",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const sending = home.start(["send", "demo", "note this", "--wait"]);
    await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const { ok, of } = await examined(home);
    expect(ok).toBe(true);
    expect(of("machine")?.text).toBe("it runs (sessions: 1, with a process: 1)");
    expect(of("session demo")).toMatchObject({ level: "note", fix: "`lichen approve`" });
  },
);

test(
  "[UP17] the Tab key completes the names of a machine's sessions and what waits in them",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const sending = home.start(["send", "demo", "note this", "--wait"]);
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const env = { LICHEN_COMPLETION_MS: "30000" };
    const offers = async (...words: string[]) =>
      (await home.run(["completion", "--words", ...words], { env })).stdout;
    expect(await offers("log", "d")).toBe(`demo\tacp, waiting, in ${home.path("demo")}\n`);
    expect(await offers("send", "d")).toContain("demo\tacp");
    expect(await offers("approve", "a")).toContain(`${id}\t`);
  },
);
