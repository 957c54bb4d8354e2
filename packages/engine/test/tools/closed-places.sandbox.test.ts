// These tests need a working bubblewrap and fail without one.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSandbox } from "../../src/tools/host/sandbox.ts";
import { use, type Workbench, workbench } from "./workbench.ts";

const secret = "canary-5f1c9a";
let bench: Workbench;

beforeEach(() => {
  bench = workbench();
});
afterEach(() => bench[Symbol.dispose]());

/** Runs commands in a sandbox that was opened now. */
async function hiding(...hide: string[]): Promise<(command: string) => Promise<string>> {
  const sandbox = await openSandbox({ mode: "require", mask: [], hide, cwd: bench.cwd });
  const tools = await bench.tools({ sandbox });
  return async (command) => (await use(tools, "bash", { command })).text;
}

test("[C22] what is made after the sandbox was opened is hidden from the next command, a folder and a file", async () => {
  const secrets = join(bench.cwd, ".secrets");
  const file = join(bench.root, "key");
  const run = await hiding(secrets, file);
  expect(await run("ls -A .secrets")).toBe("(no output)");
  mkdirSync(secrets);
  writeFileSync(join(secrets, ".env"), secret);
  writeFileSync(file, secret);
  for (const command of [
    "cat .secrets/.env",
    "grep -r canary .",
    `cat ${file}`,
    "mv .secrets away; cat away/.env",
    "ln .secrets/.env hard; cat hard",
    "cp -r .secrets copy; cat copy/.env",
    "ln -s .secrets/.env soft; cat soft",
  ])
    expect(await run(command), command).not.toContain(secret);
  await run(`echo NEW=1 > .secrets/.env; echo x > ${file}; rm -rf .secrets`);
  expect(readFileSync(join(secrets, ".env"), "utf8")).toBe(secret);
  expect(readFileSync(file, "utf8")).toBe(secret);
});

test("[C22] what is not there cannot be made by a command, and nothing of it stays; what was taken away is no matter", async () => {
  const secrets = join(bench.cwd, ".secrets");
  mkdirSync(secrets);
  const run = await hiding(secrets);
  rmSync(secrets, { recursive: true });
  mkdirSync(join(bench.cwd, "own"));
  for (const command of [
    "mkdir -p .secrets && echo NEW=1 > .secrets/.env",
    "echo NEW=1 > .secrets",
    "rmdir .secrets; mv own .secrets",
    "rmdir .secrets; ln -sfT own .secrets",
  ]) {
    await run(command);
    expect(readdirSync(bench.cwd), command).not.toContain(".secrets");
  }
  expect(existsSync(join(bench.cwd, "own"))).toBe(true);
});

test("[C22] what its owner puts there while a command runs is not seen by it, and other commands that end open nothing", async () => {
  const secrets = join(bench.cwd, ".secrets");
  const run = await hiding(secrets);
  const waiting = (name: string) =>
    `touch ${name}; until [ -e go ]; do sleep 0.01; done; cat .secrets/.env; mkdir -p .secrets/x`;
  const reached = async (name: string) => {
    while (!existsSync(join(bench.cwd, name))) await new Promise((done) => setTimeout(done, 5));
  };
  const first = run(waiting("first"));
  await reached("first");
  const second = run("touch second; rmdir .secrets; mkdir .secrets; echo NEW=1 > .secrets/.env");
  await reached("second");
  await second;
  expect(readdirSync(secrets)).toEqual([]);
  await run("true; rmdir .secrets; mkdir .secrets; echo NEW=1 > .secrets/.env");
  expect(readdirSync(secrets)).toEqual([]);
  chmodSync(secrets, 0o700);
  writeFileSync(join(secrets, ".env"), secret);
  writeFileSync(join(bench.cwd, "go"), "");
  expect(await first).not.toContain(secret);
  expect(readdirSync(secrets)).toEqual([".env"]);
  expect(await run("cat .secrets/.env")).not.toContain(secret);
});

test("[C22] a hidden path that nobody can reach hinders nothing", async () => {
  symlinkSync("loop", join(bench.root, "loop"));
  const hidden = join(bench.root, "loop/share");
  const run = await hiding(hidden);
  expect(await run("echo works")).toBe("works");
  const tools = await bench.tools({ protectedPaths: [hidden] });
  expect(await use(tools, "write", { path: "a", content: "b" })).toMatchObject({ isError: false });
});

test("[C22] a hidden path that is a link is hidden where it leads", async () => {
  writeFileSync(join(bench.state, "key"), secret);
  const link = join(bench.root, "link");
  symlinkSync(bench.state, link);
  const run = await hiding(link);
  expect(await run(`cat ${bench.state}/key ${link}/key`)).not.toContain(secret);
});

test("[C22] no command runs in a working directory that is hidden", async () => {
  const inside = join(bench.cwd, "later");
  const sandbox = await openSandbox({
    mode: "require",
    mask: [],
    hide: [inside],
    cwd: bench.cwd,
  });
  mkdirSync(inside);
  expect(() => sandbox.wrap(["true"], { cwd: inside })).toThrow("hidden from agents");
});

test("[C23] the kernel's settings cannot even be opened for writing, by root neither, nor in namespaces of one's own", async () => {
  const run = await hiding();
  // Opened to append, and nothing is written.
  const files = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/swappiness",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/mm/transparent_hugepage/enabled",
  ];
  const opened = files.map((file) => `if (: >> ${file}) 2>/dev/null; then echo opened ${file}; fi`);
  const script = opened.join("\n");
  writeFileSync(join(bench.cwd, "open.sh"), script);
  expect(await run("sh open.sh")).toBe("(no output)");
  for (const own of ["unshare -Urmpf --mount-proc", "unshare -mpf --mount-proc", "unshare -Urm"])
    expect(await run(`${own} sh open.sh 2>/dev/null`), own).not.toContain("opened");
  const usual = "cat /proc/sys/kernel/ostype; exec 3> out; echo said > /proc/self/fd/3; cat out";
  expect(await run(usual)).toBe("Linux\nsaid");
});

test("[C24] the sockets of the system's service manager and message bus are not there", async () => {
  const run = await hiding();
  // How names are resolved may stay to be seen.
  const left =
    "find /run/systemd /run/dbus -mindepth 1 2>/dev/null | grep -v ^/run/systemd/resolve";
  expect(await run(`${left} || echo none`)).toBe("none");
});

test("[C25] a bubblewrap that somebody put before the system's on PATH is not run, and the one that is cannot be changed", async () => {
  const planted = join(bench.root, "bin");
  mkdirSync(planted);
  writeFileSync(join(planted, "bwrap"), `#!/bin/sh\ntouch ${bench.root}/ran\nexec "$@"\n`);
  chmodSync(join(planted, "bwrap"), 0o755);
  const path = process.env["PATH"];
  process.env["PATH"] = `${planted}:${path}`;
  try {
    const sandbox = await openSandbox({ mode: "require", mask: [], cwd: bench.cwd });
    const wrapped = sandbox.wrap(["true"], { cwd: bench.cwd });
    wrapped.release();
    expect(wrapped.argv[0]).not.toContain(planted);
    expect(existsSync(join(bench.root, "ran"))).toBe(false);
  } finally {
    process.env["PATH"] = path;
  }
  const own = join(planted, "own-wrap");
  writeFileSync(own, '#!/bin/sh\nexec bwrap "$@"\n', { mode: 0o755 });
  const sandbox = await openSandbox({ mode: "require", mask: [], cwd: bench.cwd, program: own });
  const tools = await bench.tools({ sandbox });
  for (const command of [`echo evil > ${own}`, `rm ${own}`, `mv ${planted} ${planted}2`])
    expect(await use(tools, "bash", { command }), command).toMatchObject({ isError: true });
  expect(readFileSync(own, "utf8")).toContain("exec bwrap");
});
