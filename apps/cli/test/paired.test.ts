import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { echoAgent, StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

/** Pairs one home with the machine of another, as a person does; what is said to `--on`. */
async function paired(desk: Home, laptop: Home, args: readonly string[] = []): Promise<string> {
  const pairing = desk.start(["pair", ...args]);
  const url = await pairing.until(({ stdout }) => /^(http:\S+\/pair#\S+)$/m.exec(stdout)?.[1]);
  const done = await laptop.run(["pair", url, "--name", "laptop"]);
  expect(done).toMatchObject({ code: 0, stdout: `${new URL(url).host}\n` });
  expect((await pairing.ended).code).toBe(0);
  return done.stdout.trim();
}

test(
  "[UP26] a computer that was paired by the address sees a machine elsewhere, talks to its sessions and answers them, under its name, until it is sent away",
  slow,
  async () => {
    await using desk = await Home.make();
    await using laptop = await Home.make();
    const machine = await StartedMachine.start(desk);
    await machine.make("demo", desk.path("demo"));
    const on = ["--on", await paired(desk, laptop)];
    const [file = ""] = await readdir(laptop.path(".local/share/lichen/paired"));
    const { mode } = await stat(join(laptop.path(".local/share/lichen/paired"), file));
    expect(mode & 0o777).toBe(0o600);

    const here = await laptop.run(["new", "site", "site", ...on]);
    expect(here).toMatchObject({ code: 2, stdout: "" });
    expect(here.stderr).toContain("one of that machine: say all of it");
    const made = await laptop.run([
      "new",
      "site",
      "~/site",
      ...on,
      "--",
      process.execPath,
      echoAgent,
    ]);
    expect(made).toMatchObject({ code: 0, stdout: "site\n" });
    expect(made.stderr).toContain(`lichen send site "…" --wait --on ${on[1]}`);
    expect(existsSync(desk.path("site"))).toBe(true);
    expect((await laptop.run(["rm", "site", "--yes", ...on])).stdout).toBe("site\n");
    expect((await laptop.run(["ps", ...on])).stdout).toMatch(/^demo +acp +idle/);
    const sent = await laptop.run(["send", "demo", "hello", "--wait", ...on]);
    expect(sent).toMatchObject({ code: 0, stdout: "You said: hello\n" });
    const sending = laptop.start(["send", "demo", "note milk", "--wait", ...on]);
    const line = await sending.until(
      ({ stderr }) => /(lichen approve apr_\w+ --on \S+)/.exec(stderr)?.[1],
    );
    expect((await laptop.run(line.split(" ").slice(1))).code).toBe(0);
    expect((await sending.ended).code).toBe(0);
    expect((await laptop.run(["log", "demo", "--limit", "1", ...on])).stdout).toContain("done");
    const log = await desk.run(["log", "demo", "--json"]);
    expect(new Set(log.stdout.match(/"by":"[^"]*"/g))).toEqual(new Set(['"by":"laptop"']));

    const watching = laptop.start(["watch", "demo", "--from-start", ...on]);
    await watching.until(({ stdout }) => /You said: hello/.exec(stdout) ?? undefined);
    expect(await watching.stop("SIGINT")).toBe(0);
    const set = await laptop.run(["set", "demo", "--star", "on", ...on]);
    expect(set).toMatchObject({ code: 0, stdout: "star: on\n" });
    expect((await laptop.run(["devices", ...on])).stdout).toMatch(/^dev_\w+ +laptop +owner/);
    expect(JSON.parse((await laptop.run(["adopt", "--json", ...on])).stdout)).toEqual([]);

    const [id = ""] = (await desk.run(["devices"])).stdout.split(" ");
    expect((await desk.run(["devices", "revoke", id])).code).toBe(0);
    const gone = await laptop.run(["ps", ...on]);
    expect(gone).toMatchObject({ code: 1, stdout: "" });
    expect(gone.stderr).toMatch(/does not prove to know this computer as a device.*pair again/);
  },
);

test(
  "[UP26] whoever took a machine's address is told neither the key nor a message, and a viewer may only read",
  slow,
  async () => {
    await using desk = await Home.make();
    await using laptop = await Home.make();
    const machine = await StartedMachine.start(desk);
    await machine.make("demo", desk.path("demo"));
    const on = ["--on", await paired(desk, laptop, ["--viewer"])];
    const refused = await laptop.run(["send", "demo", "hello", ...on]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("viewer may not");
    const { port } = new URL(machine.url);
    expect(await machine.running.stop("SIGTERM")).toBe(0);
    const none = await laptop.run(["ps", ...on]);
    expect(none.stderr).toContain("Nothing answers at 127.0.0.1:");
    const heard: unknown[] = [];
    const stranger = createServer((request, answer) => {
      heard.push([request.url?.split("?")[0], request.headers.authorization]);
      answer.setHeader("content-type", "application/json");
      answer.end(JSON.stringify({ status: "ok", wire: 1, features: [], proof: "made-up" }));
    });
    stranger.listen(Number(port), "127.0.0.1");
    await once(stranger, "listening");
    try {
      const told = await laptop.run(["send", "demo", "a secret", ...on]);
      expect(told.code).toBe(1);
      expect(heard).toEqual([["/health", undefined]]);
      expect((stranger.address() as AddressInfo).port).toBe(Number(port));
    } finally {
      stranger.closeAllConnections();
      stranger.close();
    }
  },
);

test("[UP26] addresses that pair with nothing are refused with what to do", slow, async () => {
  await using home = await Home.make();
  const machine = await StartedMachine.start(home);
  for (const [args, code, words] of [
    [["pair", "nowhere"], 2, /no address of a pairing/],
    [["pair", `${machine.url}/pair`], 2, /no address of a pairing/],
    [["pair", `${machine.url}/pair#x`, "--viewer"], 2, /--viewer is said on the machine/],
    [["pair", `${machine.url}/pair#wrong`], 1, /ask the machine's owner for a new one/],
    [["pair", "http://127.0.0.1:1/pair#x"], 1, /Nothing answers at/],
    [["ps", "--on", "desk"], 1, /paired with no machine at desk\. `lichen pair` on the machine/],
  ] as const) {
    const { stderr, ...rest } = await home.run(args);
    expect({ args, ...rest }).toEqual({ args, code, stdout: "" });
    expect(stderr).toMatch(words);
  }
});
