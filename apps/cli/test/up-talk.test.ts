import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

test(
  "[UP7] log shows what was said and done, the latest of it with --limit, and --follow goes on over a kill of the machine",
  slow,
  async () => {
    await using home = await Home.make();
    const first = await StartedMachine.start(home);
    await first.make("demo", home.path("demo"));
    const empty = await home.run(["log", "demo"]);
    expect(empty).toMatchObject({ code: 0, stdout: "" });
    expect(empty.stderr).toContain("nothing was said in demo yet");
    const sent = await home.run(["send", "demo", "one", "--wait"]);
    expect(sent).toMatchObject({ code: 0, stdout: "You said: one\n" });
    const whole = "> one\nYou said: one\n= the run is done\n";
    expect(await home.run(["log", "demo"])).toMatchObject({ code: 0, stdout: whole });
    const last = await home.run(["log", "demo", "--limit", "1"]);
    expect(last.stdout).toBe("= the run is done\n");

    const following = home.start(["log", "demo", "--follow", "--limit", "2"]);
    await following.until(({ stdout }) => /the run is done/.exec(stdout) ?? undefined);
    await first.running.stop("SIGKILL");
    await StartedMachine.start(home);
    expect(await home.run(["send", "demo", "two", "--wait"])).toMatchObject({ code: 0 });
    await following.until(({ stdout }) => /You said: two\n= the run/.exec(stdout) ?? undefined);
    expect(await following.stop("SIGINT")).toBe(0);
    expect(following.stdout).toMatch(
      /^You said: one\n= the run is done\n> two\n[^>]*You said: two\n= the run is done\n$/,
    );
  },
);

test(
  "[UP33] watch follows a session of the machine, over a kill of it, until Ctrl-C or its end; a name that is none is told with those that are",
  slow,
  async () => {
    await using home = await Home.make();
    const first = await StartedMachine.start(home);
    await first.make("demo", home.path("demo"));
    const watching = home.start(["watch", "demo"]);
    await watching.until(({ stderr }) => /session demo is idle/.exec(stderr) ?? undefined);
    expect(await home.run(["send", "demo", "one", "--wait"])).toMatchObject({ code: 0 });
    await watching.until(({ stdout }) => /the run is done/.exec(stdout) ?? undefined);
    await first.running.stop("SIGKILL");
    await watching.until(({ stderr }) => /the host went away/.exec(stderr) ?? undefined);
    await StartedMachine.start(home);
    expect(await home.run(["send", "demo", "two", "--wait"])).toMatchObject({ code: 0 });
    await watching.until(({ stdout }) => /You said: two\n= the run/.exec(stdout) ?? undefined);
    expect(await home.run(["rm", "demo", "--yes"])).toMatchObject({ code: 0 });
    expect((await watching.ended).code).toBe(0);
    expect(watching.stderr).toContain("session demo was deleted");
    expect(watching.stdout).toMatch(/^> one\nYou said: one\n= the run is done\n> two\n/);
    const none = await home.run(["watch", "nobody"]);
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain('There is no session "nobody" on this machine: `lichen ps`');
    expect((await home.run(["sessions"])).stderr).toMatch(
      /machine serves no agent of a folder: `lichen ps` lists its sessions/,
    );
  },
);

test(
  "[UP33] watch without a session shows what goes on in the machine, by the names that people know",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await Provider.start(home, dir, { steps: [], then: "Heard." });
    const machine = await StartedMachine.start(home, [dir]);
    await machine.make("demo", home.path("demo"));
    const watching = home.start(["watch", "--machine"]);
    const inFolder = home.start(["watch"], { cwd: dir });
    const sending = home.start(["send", "demo", "note buy milk", "--wait"]);
    await watching.until(({ stdout }) => /^demo {2}\w+ {2}1 to answer/m.exec(stdout) ?? undefined);
    expect((await home.run(["cancel", "demo"])).code).toBe(0);
    await sending.ended;
    await watching.until(({ stdout }) => /^demo {2}idle/m.exec(stdout) ?? undefined);
    await machine.make("later", home.path("later"));
    expect((await home.run(["send", "later", "hello", "--wait"])).code).toBe(0);
    await watching.until(({ stdout }) => /^later {2}/m.exec(stdout) ?? undefined);
    expect((await home.run(["send", "agent/one", "hello", "--new", "--wait"])).code).toBe(0);
    await watching.until(({ stdout }) => /^agent\/one {2}/m.exec(stdout) ?? undefined);
    expect(await watching.stop("SIGINT")).toBe(0);
    // In an agent's folder its own conversations are meant.
    await inFolder.until(({ stdout }) => /^one {2}idle/m.exec(stdout) ?? undefined);
    expect(new Set(inFolder.stdout.match(/^\w+/gm))).toEqual(new Set(["one"]));
    expect(await inFolder.stop("SIGINT")).toBe(0);
  },
);

test(
  "[UP8] approve lists what a coding agent asks beside its session's name, and answers it; log says how for as long as it waits",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const sending = home.start(["send", "demo", "note buy milk", "--wait"]);
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const ps = await home.run(["ps"]);
    expect(ps.stdout).toContain("1 to answer");
    expect((await home.run(["log", "demo"])).stdout).toContain(`lichen approve ${id}`);
    const list = await home.run(["approve"]);
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(new RegExp(`^${id}  session demo, until`));
    expect(list.stdout).toContain("buy milk");
    expect(list.stderr).toContain(`lichen approve ${id}`);
    const json = JSON.parse((await home.run(["approve", "--json"])).stdout) as unknown;
    expect(json).toMatchObject([{ session: "demo", approval: { approvalId: id } }]);
    const always = await home.run(["approve", id, "--always"]);
    expect(always.code).toBe(2);
    expect(always.stderr).toContain("nothing is suggested");
    expect((await home.run(["approve", id, "--always", "--deny"])).code).toBe(2);
    expect(await home.run(["approve", id])).toMatchObject({ code: 0 });
    expect((await sending.ended).code).toBe(0);
    expect(await readFile(home.path("demo/notes.txt"), "utf8")).toBe("buy milk\n");
    const log = await home.run(["log", "demo"]);
    expect(log.stdout).toContain('May the agent call Write to notes.txt {"note":"buy milk"}?');
    expect(log.stdout).not.toContain("lichen approve");
    const late = await home.run(["approve", id]);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain(`${id} waits for nobody`);

    const other = home.start(["send", "demo", "note buy bread", "--wait"]);
    const second = await other.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    expect(await home.run(["approve", second, "--deny"])).toMatchObject({ code: 0 });
    await other.ended;
    expect(other.stdout).toBe("Then not.\n");
    expect(await readFile(home.path("demo/notes.txt"), "utf8")).toBe("buy milk\n");
  },
);

test(
  "[UP25] a denial with --interrupt stops the run too, and its events say so",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const sending = home.start(["send", "demo", "note never", "--wait"]);
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const alone = await home.run(["approve", id, "--interrupt"]);
    expect(alone).toMatchObject({ code: 2, stdout: "" });
    expect(alone.stderr).toContain("--interrupt goes with --deny");
    expect((await home.run(["approve", "--deny", "--interrupt"])).code).toBe(2);
    const stop = ["approve", id, "--deny", "--interrupt", "--message", "Not today."];
    expect((await home.run(stop)).code).toBe(1);
    expect((await sending.ended).code).toBe(1);
    expect(sending.stdout).not.toContain("Then not.");
    const events = await machine.ask("/v1/sessions/demo/events?after=0");
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    let told = "";
    while (!told.includes('"answer"')) told += (await reader.read()).value ?? "";
    await reader.cancel();
    const answer = told.split("\n").find((line) => line.includes('"answer"'));
    expect(JSON.parse(answer?.replace(/^data: /, "") ?? "{}")).toMatchObject({
      data: { allow: false, message: "Not today.", interrupt: true },
    });
    expect(await home.run(["send", "demo", "still there?", "--wait"])).toMatchObject({
      ...{ code: 0, stdout: "You said: still there?\n" },
    });
  },
);

test(
  "[UP10] cancel ends the turn of a session of the machine, with what it asked",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    const sending = home.start(["send", "demo", "note never", "--wait"]);
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    expect(await home.run(["cancel", "demo"])).toMatchObject({ code: 0 });
    expect((await sending.ended).code).toBe(1);
    expect((await home.run(["approve", id])).code).toBe(1);
    const idle = await home.run(["cancel", "demo"]);
    expect(idle.stderr).toContain("nothing runs in session demo");
    const unknown = await home.run(["cancel", "demo", "cmd_x"]);
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("Session demo knows no such command: `lichen send` prints");
  },
);
