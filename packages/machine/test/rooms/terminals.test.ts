// Coding agents that run in terminals: real processes under the names of real programs.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { handRuns } from "../../src/terminals/processes.ts";
import { Rig } from "../rig.ts";
import { claudeTranscript, typed } from "./transcripts.ts";

let place: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "lichen-terminals-"));
  for (const name of ["claude", "pi", "other"]) symlinkSync("/bin/sleep", join(place, name));
  chmodSync(place, 0o700);
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(place, { recursive: true, force: true });
});

/** A process that is called so; it is there, under that name, when this settles. */
async function run(argv0: string, args: readonly string[], more: object = {}): Promise<number> {
  // `sleep` adds up its arguments, so that they have to be numbers: others go to a shell that waits.
  const script = "trap 'exit 0' TERM; while :; do read -t 1000 line || exit 1; done";
  const child = spawn("/bin/bash", ["-c", script, ...args], {
    argv0,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: place,
    ...more,
  });
  children.push(child);
  await new Promise((resolve) => child.once("spawn", resolve));
  return child.pid!;
}

function gone(pid: number): Promise<unknown> {
  const child = children.find((it) => it.pid === pid)!;
  return child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once("exit", resolve));
}

test("[AD21] terminals are found by what runs in them; what a program drives, or this machine, is none", async () => {
  const hand = await run("claude", ["--resume", "a b"]);
  const full = await run("/usr/local/bin/claude", []);
  const pi = await run("pi", []);
  const not = [
    await run("claude", ["-p"]),
    await run("claude", ["--print"]),
    await run("claude", ["--output-format", "stream-json"]),
    await run("pi", ["--mode", "rpc"]),
    await run("claude-helper", []),
    await run("claude", [], { env: { ...process.env, LICHEN_SESSION: "x" } }),
  ];
  const runs = await handRuns();
  const found = new Map(runs.map((it) => [it.pid, it]));
  expect(found.get(hand)).toMatchObject({ harness: "claude", dir: place });
  expect(found.get(hand)?.args.slice(-2)).toEqual(["--resume", "a b"]);
  expect(found.get(hand)?.args[0]).toBe("claude");
  expect(found.get(full)).toMatchObject({ harness: "claude" });
  expect(found.get(pi)).toMatchObject({ harness: "pi" });
  expect(not.filter((pid) => found.has(pid))).toEqual([]);
});

test("[AD21] the words of a program that wrote its title over them are its title, however much room there was", async () => {
  const script = `process.title = "pi"; console.log("called"); process.stdin.resume();`;
  const child = spawn(process.execPath, ["-e", script, "x".repeat(200), "y"], {
    ...{ cwd: place, stdio: ["pipe", "pipe", "ignore"] },
  });
  children.push(child);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  const found = (await handRuns()).find(({ pid }) => pid === child.pid);
  expect(found).toMatchObject({ harness: "pi", dir: place, args: ["pi"] });
  const empty = await run("claude", ["--resume", "", "z"]);
  expect((await handRuns()).find(({ pid }) => pid === empty)?.args.slice(-2)).toEqual(["", "z"]);
});

test("[AD20] only a terminal that is listed is ended, and by its own number alone", async () => {
  await using rig = await Rig.open();
  const dir = join(rig.home, "my work");
  mkdirSync(dir);
  claudeTranscript({ home: rig.home, id: "c-1", lines: [typed("hi", 1, dir)] });
  const pid = await run("claude", [], { cwd: dir });
  const elsewhere = await run("claude", []);
  const driven = await run("claude", ["-p"], { cwd: dir });
  const { body } = await rig.tell("/v1/conversations");
  expect(body).toMatchObject({
    conversations: [{ id: "c-1", terminals: [{ pid, dir, tmux: "", args: expect.any(Array) }] }],
  });
  const stop = (it: number | string) =>
    rig.tell(`/v1/terminals/${it}/stop`, { method: "POST" }).then(({ status }) => status);
  for (const it of [driven, process.pid, 0, "x", `${pid}.0`, `-${pid}`])
    expect([it, await stop(it)]).toEqual([it, 404]);
  expect(await stop(pid)).toBe(204);
  await gone(pid);
  expect(await stop(pid)).toBe(404);
  const left = (await handRuns()).map((it) => it.pid);
  expect(left).toContain(elsewhere);
  expect(left).not.toContain(pid);
  expect(children.find((it) => it.pid === driven)?.exitCode).toBe(null);
});
