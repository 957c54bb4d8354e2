import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

/** Each of these starts many processes. */
const slow = { timeout: 90_000 };

const held = { parts: [{ gate: "held" }, { text: "Done." }] };

async function send(home: Home, dir: string, text: string): Promise<string> {
  const { stdout } = await home.run(["send", "s", text, dir, "--new"]);
  expect(stdout).toMatch(/^cmd_/);
  return stdout.trimEnd();
}

async function terminals(host: StartedHost): Promise<unknown[]> {
  return (await host.entries("s")).flatMap(({ kind, data }) =>
    kind === "run.settled" ? [data["terminal"]] : [],
  );
}

test(
  "[K34] cancel stops the run and takes back all that waits, and prints what that was",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, { steps: [held] });
    const host = await StartedHost.start(home, dir);
    const first = await send(home, dir, "one");
    await provider.atGate("held");
    const second = await send(home, dir, "two");
    const { code, stdout } = await home.run(["cancel", "s", dir]);
    expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({
      code: 0,
      lines: [first, second],
    });
    expect(await home.run(["send", "s", "three", dir, "--wait"])).toMatchObject({ code: 1 });
    expect((await terminals(host)).slice(0, 2)).toEqual(["cancelled", "cancelled"]);
    const none = await home.run(["cancel", "s", dir]);
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toContain("nothing runs in session s");
  },
);

test(
  "[K34] cancel with a command's id stops that alone, with --only-if-pending only before it runs; too late is 1",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, { steps: [held, "Third."] });
    await StartedHost.start(home, dir);
    const first = await send(home, dir, "one");
    await provider.atGate("held");
    const second = await send(home, dir, "two");
    const pending = await home.run(["cancel", "s", first, dir, "--only-if-pending"]);
    expect(pending).toMatchObject({ code: 1, stdout: "" });
    expect(pending.stderr).toMatch(/was not cancelled: it has begun/);
    expect(await home.run(["cancel", "s", second, dir])).toMatchObject({
      code: 0,
      stdout: `${second}\n`,
    });
    const json = await home.run(["cancel", "s", second, dir, "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({ status: "too_late", commandId: second });
    await provider.open("held");
    expect(await home.run(["send", "s", "three", dir, "--wait"])).toMatchObject({
      code: 0,
      stdout: "Third.\n",
    });
  },
);

test(
  "[K34] without a host cancel takes back what waits and what a killed host left, and runs nothing",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, { steps: [held], then: "Never." });
    const first = await StartedHost.start(home, dir);
    const running = await send(home, dir, "one");
    await provider.atGate("held");
    await first.running.stop("SIGKILL");
    const waiting = await send(home, dir, "two");
    const { code, stdout } = await home.run(["cancel", "s", dir, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ cancelled: [running, waiting] });
    expect(await provider.requests()).toBe(1);
    const host = await StartedHost.start(home, dir);
    expect(await terminals(host)).toEqual(["cancelled", "cancelled"]);
    expect(await provider.requests()).toBe(1);
  },
);

test(
  "[K34] cancel of what is not there is refused in a sentence, and names `lichen sessions`",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const gone = await home.run(["cancel", "typo", dir]);
    expect(gone).toMatchObject({ code: 1, stdout: "" });
    expect(gone.stderr).toMatch(/no session "typo".*lichen sessions/);
    expect(gone.stderr).toContain(`sessions ${dir}\``);
    expect(await home.run(["cancel", "s", dir, "--only-if-pending"])).toMatchObject({ code: 2 });
    expect(await home.run(["cancel", "s", "two", dir])).toMatchObject({ code: 2 });
  },
);
