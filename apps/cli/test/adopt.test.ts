import { spawn } from "node:child_process";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

const site = "0b6f2c9e-1111-4111-8111-111111111111";
const shop = "0b6f2c9e-2222-4222-8222-222222222222";

/** A conversation as Claude Code leaves it; `age` in minutes before the newest. */
async function conversation(home: Home, id: string, name: string, age: number): Promise<void> {
  const cwd = home.path(name);
  await mkdir(cwd, { recursive: true });
  const at = new Date(Date.UTC(2026, 5, 1, 12, 0) - age * 60_000);
  const common = { isSidechain: false, timestamp: at.toISOString(), cwd, sessionId: id };
  const lines = [
    { type: "user", message: { role: "user", content: `build the ${name}` }, ...common },
    {
      type: "assistant",
      message: { role: "assistant", model: "x", content: [{ type: "text", text: "Built." }] },
      ...common,
    },
  ];
  const file = home.path(".claude/projects", cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"), `${id}.jsonl`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, lines.map((it) => `${JSON.stringify(it)}\n`).join(""));
  await utimes(file, at, at);
}

test(
  "[UP22] adopt lists this computer's conversations, takes one by the beginning of its id, and asks for more where two begin so",
  slow,
  async () => {
    await using home = await Home.make();
    await conversation(home, site, "site", 60);
    await conversation(home, shop, "shop", 0);
    await mkdir(home.path("bin"));
    await writeFile(home.path("bin/claude"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const env = { PATH: `${home.path("bin")}:/usr/bin:/bin` };
    await StartedMachine.start(home, [], { env });

    const { stdout, stderr, code } = await home.run(["adopt"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${shop}  claude  .*/shop .*build the shop\n${site}  claude  .*build the site\n$`,
      ),
    );
    expect(stderr).toContain("lichen adopt <id>` continues one");
    const limited = await home.run(["adopt", "--limit", "1", "--json"]);
    expect(JSON.parse(limited.stdout)).toMatchObject([{ id: shop }]);

    const both = await home.run(["adopt", "0b6f2c9e"]);
    expect(both).toMatchObject({ code: 1, stdout: "" });
    expect(both.stderr).toMatch(/Several conversations begin with 0b6f2c9e: .*Name one whole/);
    const none = await home.run(["adopt", "nowhere"]);
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain("lichen adopt` lists");
    const nameless = await home.run(["adopt", "--name", "x"]);
    expect(nameless).toMatchObject({ code: 2, stdout: "" });

    const adopted = await home.run(["adopt", "0b6f2c9e-1"]);
    expect(adopted).toMatchObject({ code: 0, stdout: "site\n" });
    expect(adopted.stderr).toContain(`claude in ${home.path("site")}`);
    expect((await home.run(["adopt"])).stdout).toMatch(/is session site/);
    const named = await home.run(["adopt", shop, "--name", "store", "--json"]);
    expect(JSON.parse(named.stdout)).toMatchObject({ name: "store", dir: home.path("shop") });
    expect((await home.run(["ps"])).stdout.match(/^\w+/gm)).toEqual(["site", "store"]);
  },
);

test(
  "[UP30] adopt tells of the coding agent that still runs in a terminal there, and ends it once a person said so",
  slow,
  async () => {
    await using home = await Home.make();
    await conversation(home, site, "site", 0);
    await mkdir(home.path("bin"));
    await writeFile(home.path("bin/claude"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const env = { PATH: `${home.path("bin")}:/usr/bin:/bin` };
    await StartedMachine.start(home, [], { env });
    const script = "trap 'exit 0' TERM; while :; do read -t 1000 line || exit 1; done";
    const hand = spawn("/bin/bash", ["-c", script], {
      ...{ argv0: "claude", cwd: home.path("site"), env: { HOME: home.dir } },
      stdio: ["pipe", "ignore", "ignore"],
    });
    const ended = new Promise<number | null>((resolve) => hand.once("exit", resolve));
    await new Promise((resolve) => hand.once("spawn", resolve));
    try {
      expect((await home.run(["adopt"])).stdout).toContain(`in a terminal (process ${hand.pid})`);
      const unsure = await home.run(["adopt", site, "--stop-terminal"]);
      expect(unsure).toMatchObject({ code: 1, stdout: "" });
      expect(unsure.stderr).toMatch(
        /Nobody can be asked here, so say --yes if this is meant: End the coding agent/,
      );
      expect((await home.run(["adopt", site, "--yes"])).code).toBe(2);
      const adopted = await home.run(["adopt", site]);
      expect(adopted).toMatchObject({ code: 0, stdout: "site\n" });
      expect(adopted.stderr).toMatch(
        /runs in its directory in a terminal too .*close it there, or end it from here/,
      );
      const stopped = await home.run(["adopt", site, "--stop-terminal", "--yes"]);
      expect(stopped).toMatchObject({ code: 0, stdout: "" });
      expect(stopped.stderr).toMatch(
        new RegExp(`process ${hand.pid} in .*site was told to end\nsession site goes on with it`),
      );
      expect(await ended).toBe(0);
      const none = await home.run(["adopt", site, "--stop-terminal", "--yes"]);
      expect(none.stderr).toContain("no terminal has it open");
    } finally {
      hand.kill("SIGKILL");
    }
  },
);
