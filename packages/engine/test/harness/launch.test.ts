import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Json } from "@lichen/wire";
import { afterEach, beforeEach, expect, test } from "vitest";
import { endGroup, membersOf } from "../../src/harness/host/end-group.ts";
import { processHost } from "../../src/harness/host/launch.ts";
import { isMarked, processes, processInfo, toldByPs } from "../../src/harness/host/processes.ts";
import type { HarnessProcess, LaunchRequest } from "../../src/harness/process.ts";
import { turns, until } from "../../../runtime/test/clock.ts";
import { StandIn } from "./stand-in.ts";

let standIn: StandIn;
beforeEach(async () => {
  standIn = await StandIn.open();
});
afterEach(() => standIn.close());

const mark = () => `mark-${standIn.folder.slice(-6)}`;

function launch(script: string, more: Partial<LaunchRequest> = {}) {
  const lines: Json[] = [];
  const { dir, env, report } = standIn.options([]);
  const launched = processHost.launch({
    argv: ["sh", "-c", script],
    ...{ dir, env, report, mark: mark() },
    recorded: async () => {},
    line: (value) => lines.push(value),
    ...more,
  });
  return { lines, launched };
}

async function isRunning(pid: number): Promise<boolean> {
  const info = await processInfo(pid);
  return info !== undefined && !info.isDead;
}

async function told(lines: readonly Json[], count: number): Promise<void> {
  await until(() => lines.length >= count, `${count} lines`);
}

test("[HK1] the harness begins only after its process group is durable", async () => {
  const isRecorded = Promise.withResolvers<void>();
  const began = Promise.withResolvers<HarnessProcess["group"]>();
  const { launched, lines } = launch('echo \'"began"\'; read -r line; echo "$line"', {
    recorded: (group) => {
      began.resolve(group);
      return isRecorded.promise;
    },
  });
  const group = await began.promise;
  expect(await isRunning(group.group)).toBe(true);
  expect((await processInfo(group.group))?.startedAt).toBe(group.startedAt);
  expect(lines).toEqual([]);
  isRecorded.resolve();
  const process = await launched;
  await process.write({ hello: 1 });
  expect(await process.ended).toEqual({ code: 0, signal: null });
  expect(lines).toEqual(["began", { hello: 1 }]);
});

test("[HK1] a launcher whose record fails, or whose host dies before it, never becomes the harness", async () => {
  const { launched } = launch("touch began", {
    recorded: () => Promise.reject(new Error("the disk is full")),
  });
  await expect(launched).rejects.toThrow("the disk is full");

  const host = spawn(
    process.execPath,
    [join(import.meta.dirname, "dying-host.ts"), standIn.folder],
    { env: { PATH: process.env["PATH"] ?? "" }, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [chunk] = (await once(host.stdout, "data")) as [Buffer];
  const launcher = Number(chunk.toString());
  expect(await isRunning(launcher)).toBe(true);
  host.kill("SIGKILL");
  await once(host, "exit");
  await until(async () => !(await isRunning(launcher)), "the launcher's end");
  await expect(access(join(standIn.folder, "began"))).rejects.toThrow();
});

test("[HK2] a group is ended only where boot, number and start time are the recorded ones", async () => {
  const { launched, lines } = launch("echo 1; read -r line");
  const process = await launched;
  await told(lines, 1);
  const { group } = process;
  await endGroup({ ...group, boot: "another" }, "another-mark");
  await endGroup({ ...group, startedAt: "1" }, "another-mark");
  expect(await isRunning(group.group)).toBe(true);
  await endGroup(group, "another-mark");
  expect(await isRunning(group.group)).toBe(false);
  expect(await process.ended).toEqual({ code: null, signal: "SIGKILL" });
});

test("[HK3] ending a group ends also what has left it, by the mark in its environment", async () => {
  const { launched, lines } = launch(
    "setsid sleep 600 & echo $!; sleep 600 & echo $!; read -r line",
  );
  const process = await launched;
  await told(lines, 2);
  const [left, stayed] = lines as number[];
  await until(async () => (await processInfo(left!))?.group === left, "a group of its own");
  await process.kill();
  expect(await isRunning(left!)).toBe(false);
  expect(await isRunning(stayed!)).toBe(false);
  expect((await processes()).filter(({ pid }) => isMarked(pid, mark()))).toEqual([]);
});

test("[HK3] where no mark can be read, what left the group is known by who began it", async () => {
  const { launched, lines } = launch("env -i setsid sleep 600 & echo $!; read -r line");
  const harness = await launched;
  await told(lines, 1);
  const left = lines[0] as number;
  await until(async () => (await processInfo(left))?.group === left, "a group of its own");
  expect(membersOf(await processes(), harness.group, mark()).map(({ pid }) => pid)).toContain(left);
  await endGroup(harness.group, mark());
  expect(await isRunning(left)).toBe(false);
  await harness.ended;
});

test("[HK3] a leader of another start is no leader of ours, nor are its children", () => {
  const group = { group: 10, startedAt: "then", boot: "" };
  const one = (pid: number, parent: number, startedAt: string, of = pid) => ({
    ...{ pid, parent, startedAt, group: of },
    isDead: false,
  });
  const left = [one(11, 10, "later", 10), one(12, 11, "later"), one(13, 1, "later")];
  const pids = (startedAt: string) =>
    membersOf([one(10, 1, startedAt), ...left], group, "no-mark").map(({ pid }) => pid);
  expect(pids("then")).toEqual([10, 11, 12]);
  expect(pids("later")).toEqual([]);
});

test("[HK2] where there is no /proc, `ps` tells who a process is, the same in every language and zone", async () => {
  const { launched } = launch("read -r line");
  const harness = await launched;
  const { group: pid } = harness.group;
  const [told] = await toldByPs(["-p", String(pid)]);
  expect(told).toMatchObject({ pid, parent: process.pid, group: pid, isDead: false });
  expect(told?.startedAt).toMatch(/^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}$/);
  expect((await toldByPs(["-A"])).map((it) => it.pid)).toContain(pid);
  await harness.kill();
  expect(await toldByPs(["-p", String(pid)])).toEqual([]);
});

test("[HK7] the harness has exactly the environment that was named, and its mark", async () => {
  const { launched, lines } = launch(
    "env | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD=' > seen; echo 1",
  );
  await (
    await launched
  ).ended;
  await told(lines, 1);
  const seen = (await readFile(join(standIn.folder, "seen"), "utf8")).trim().split("\n").sort();
  expect(seen).toEqual(
    [
      `HOME=${standIn.folder}`,
      `LICHEN_HARNESS=${mark()}`,
      `PATH=${process.env["PATH"] ?? ""}`,
    ].sort(),
  );
});

test("[HK8] a child that inherited stdout keeps nothing from ending", async () => {
  // The child has neither the group nor the mark any more.
  const { launched, lines } = launch("env -i setsid sleep 20 & echo $!");
  const began = performance.now();
  const process = await launched;
  expect(await process.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - began).toBeLessThan(5_000);
  await endGroup({ ...process.group, group: lines[0] as number }, mark());
  globalThis.process.kill(lines[0] as number, "SIGKILL");
});

test("[HK8] what it wrote last is heard, stderr is kept, and a write to it is refused afterwards", async () => {
  const { launched, lines } = launch(
    "echo 'a word' >&2; head -c 5000000 /dev/zero | tr '\\0' 1 | sed 's/.*/\"&\"/'; echo; echo '\"last\"'",
  );
  const process = await launched;
  const { code } = await process.ended;
  expect(code).toBe(0);
  expect(lines).toEqual(["1".repeat(5_000_000), "last"]);
  expect(process.stderr()).toBe("a word\n");
  await expect(process.write(1)).rejects.toMatchObject({ code: "unavailable" });
});

test("[HK1] behind a wall it is the launcher that begins there, and the wall is released at its end", async () => {
  let released = 0;
  const { launched, lines } = launch('read -r line; echo "$line"; echo \'"last"\'', {
    wall: (argv) => ({ argv: ["env", "WALLED=1", ...argv], release: () => void released++ }),
  });
  const process = await launched;
  await process.write({ hello: 1 });
  expect(await process.ended).toEqual({ code: 0, signal: null });
  expect(lines).toEqual([{ hello: 1 }, "last"]);
  expect(released).toBe(1);
});

test("[HK15] without file handles left a start is refused in words, and the host goes on", async () => {
  const program = join(import.meta.dirname, "crowded-host.ts");
  const limited = 'ulimit -n 80; exec "$@"';
  const host = spawn("sh", ["-c", limited, "sh", process.execPath, program, standIn.folder], {
    env: { PATH: process.env["PATH"] ?? "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  host.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const [code] = await once(host, "close");
  expect(code).toBe(0);
  const answers = JSON.parse(out) as Record<"harness" | "terminal" | "line", string>[];
  for (const { line } of answers) expect(line).toMatch(/^string$|^A (long )?line .*was left out: /);
  for (const { harness, terminal } of answers)
    for (const answer of [harness, terminal])
      expect(answer).toMatch(/^began$|^Fault: true could not be started: too many files are open/);
  expect(answers[0]).toMatchObject({ harness: expect.stringContaining("Fault") });
  expect(answers[0]).toMatchObject({ terminal: expect.stringContaining("Fault") });
  expect(answers[0]?.line).toContain("left out");
  expect(answers.at(-1)).toEqual({ harness: "began", terminal: "began", line: "string" });
});

test("[HK16] what a harness writes is read no faster than it is taken in, and none of it is lost", async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  let bytes = 0;
  const line = "x".repeat(100_000);
  const script = `i=0; while [ $i -lt 400 ]; do echo "\\"$TEXT\\""; i=$((i+1)); done; touch done; read -r line`;
  const { launched } = launch(script, {
    env: { PATH: process.env["PATH"] ?? "", TEXT: line },
    line: (value) => {
      if (typeof value === "string") bytes += value.length;
    },
    taken: () => {
      asked.resolve();
      return gate.promise;
    },
  });
  const harness = await launched;
  await asked.promise;
  await turns(50);
  const isDone = () => existsSync(join(standIn.folder, "done"));
  expect(bytes).toBeLessThan(5 * 1024 * 1024);
  expect(isDone()).toBe(false);
  gate.resolve();
  await until(isDone, "its last word");
  harness.closeInput();
  expect(await harness.ended).toMatchObject({ signal: null });
  expect(bytes).toBe(400 * line.length);
});

test("[HK16] a harness that ends while nothing is taken in is heard to its last line", async () => {
  const asked = Promise.withResolvers<void>();
  // More than is read ahead, by no more than a pipe holds.
  const script = `i=0; while [ $i -lt 43 ]; do echo "\\"$TEXT\\""; i=$((i+1)); done; echo '"last"'`;
  const { lines, launched } = launch(script, {
    env: { PATH: process.env["PATH"] ?? "", TEXT: "x".repeat(100_000) },
    taken: () => {
      asked.resolve();
      return new Promise<void>(() => {});
    },
  });
  const harness = await launched;
  await asked.promise;
  await harness.ended;
  expect(lines.at(-1)).toBe("last");
  expect(lines).toHaveLength(44);
});
