// A conversation that the real Claude Code had in a terminal, before any machine of ours was there: taken over, gone on
// with, and still there after a host's death.

import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { startScriptedProvider } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { Home, repository } from "./process.ts";

const bin = join(repository, "test/harnesses/node_modules/.bin");

test(
  "[UP24] a conversation of the real Claude Code's own is adopted once, goes on with all that was said, and survives its host",
  { timeout: 300_000 },
  async () => {
    await using home = await Home.make();
    const provider = await startScriptedProvider({
      script: [
        "I shall remember the zebra.",
        "The zebra it is.",
        { parts: [{ text: "half a ze" }, { gate: "killed" }] },
        "A whole zebra.",
        "Zebras all the way.",
      ],
      rules: "none",
    });
    onTestFinished(() => provider.close());
    const cwd = home.path("work");
    await mkdir(cwd);
    const env = {
      PATH: [bin, process.env["PATH"]].join(delimiter),
      ANTHROPIC_BASE_URL: provider.url,
      ANTHROPIC_API_KEY: "sk-made-up-for-tests",
      DISABLE_TELEMETRY: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
    const given = () =>
      provider.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join("\n");
    const own = home.start(["-p", "Keep the zebra in mind."], {
      ...{ cwd, env, program: [join(bin, "claude")] },
    });
    expect((await own.ended).code).toBe(0);
    expect(own.stdout).toBe("I shall remember the zebra.\n");

    const first = await StartedMachine.start(home, [], { env });
    const listed = await home.run(["adopt", "--json"]);
    const [found] = JSON.parse(listed.stdout) as { id: string }[];
    expect(found).toMatchObject({
      ...{ harness: "claude", dir: cwd, adopted_by: "" },
      ...{ last_user: "Keep the zebra in mind.", last_assistant: "I shall remember the zebra." },
    });
    const id = found?.id ?? "";
    const adopted = await home.run(["adopt", id, "--name", "zoo", "--json"]);
    expect(JSON.parse(adopted.stdout)).toMatchObject({ name: "zoo", dir: cwd });
    const again = await first.ask("/v1/sessions", { name: "other", resume: id });
    expect(again.status).toBe(400);
    expect(await again.text()).toContain("zoo");
    const sent = await home.run(["send", "zoo", "Which animal?", "--wait"]);
    expect(sent).toMatchObject({ code: 0, stdout: "The zebra it is.\n" });
    for (const text of ["Keep the zebra in mind.", "I shall remember", "Which animal?"])
      expect(given()).toContain(text);

    await home.run(["send", "zoo", "Draw it."]);
    await provider.reached("killed");
    await first.running.stop("SIGKILL");
    const second = await StartedMachine.start(home, [], { env });
    const following = home.start(["log", "zoo", "--follow"]);
    await following.until(({ stdout }) => /A whole zebra\.\n= /.exec(stdout) ?? undefined);
    await following.stop("SIGINT");
    expect(following.stdout.match(/^> Draw it\.$/gm)).toHaveLength(1);
    expect(given()).toContain("Keep the zebra in mind.");
    expect((await second.ask("/v1/sessions", { name: "other", resume: id })).status).toBe(400);
    const last = await home.run(["send", "zoo", "And more?", "--wait"]);
    expect(last.stdout).toBe("Zebras all the way.\n");
    expect(given()).toContain("I shall remember the zebra.");
    const history = await (await second.ask("/v1/sessions/zoo/history")).json();
    expect(history).toMatchObject({
      history: [{ text: "Keep the zebra in mind." }, { text: "I shall remember the zebra." }],
    });
    expect((await home.run(["ps"])).stdout).toMatch(/^zoo {2}claude {2}idle/);
  },
);
