// These tests need a working bubblewrap and fail without one.

import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { Tool } from "../../src/tool.ts";
import { openSandbox } from "../../src/tools/host/sandbox.ts";
import { use, workbench, type Workbench } from "./workbench.ts";

const secret = "canary-5f1c9a";

interface Walled extends Disposable {
  readonly bench: Workbench;
  readonly tools: Tool[];
  /** Runs a command inside; its whole output. */
  run(command: string): Promise<string>;
}

async function walled(): Promise<Walled> {
  const bench = workbench();
  mkdirSync(join(bench.state, "agents/other"), { recursive: true });
  for (const name of ["token", "credentials.json", "host.db", "agents/other/store.db"])
    writeFileSync(join(bench.state, name), secret);
  const sandbox = await openSandbox({ mode: "require", mask: [bench.state], cwd: bench.cwd });
  const tools = await bench.tools({ sandbox });
  return {
    bench,
    tools,
    run: async (command) => (await use(tools, "bash", { command })).text,
    [Symbol.dispose]: () => bench[Symbol.dispose](),
  };
}

test("[C13] a masked folder is empty inside, and nothing can be put into it", async () => {
  using wall = await walled();
  const { state } = wall.bench;
  expect(await wall.run(`ls -A ${state}`)).toBe("(no output)");
  for (const file of ["token", "credentials.json", "host.db", "agents/other/store.db"]) {
    expect(await wall.run(`cat ${state}/${file}`)).not.toContain(secret);
    expect(await wall.run(`cp ${state}/${file} copy`)).toContain("No such file");
  }
  expect(await wall.run(`echo x > ${state}/token`)).toContain("Read-only file system");
  expect(await wall.run(`rm -rf ${state}`)).toContain("busy");
  expect(readFileSync(join(state, "token"), "utf8")).toBe(secret);
});

test("[C13] links of either kind lead nowhere", async () => {
  using wall = await walled();
  const { state, cwd, root } = wall.bench;
  symlinkSync(join(state, "token"), join(cwd, "soft"));
  symlinkSync(root, join(cwd, "above"));
  const up = `above/${basename(state)}/token`;
  for (const command of [
    "cat soft",
    `cat ${up}`,
    `ln ${state}/token hard; cat hard`,
    `ln -s ${state}/host.db mine; cat mine`,
    `cat ../${basename(state)}/token`,
  ])
    expect(await wall.run(command), command).not.toContain(secret);
});

test("[C13] the roots, descriptors and memory of processes lead nowhere, inside or outside", async () => {
  using wall = await walled();
  const { state } = wall.bench;
  const holder = spawn("sh", ["-c", `exec 9< ${state}/token; exec sleep 300`], {
    cwd: state,
    env: { PATH: process.env["PATH"] ?? "", HOST_SECRET: secret },
    stdio: "ignore",
  });
  try {
    for (const command of [
      `cat /proc/1/root${state}/token`,
      `cat /proc/self/root${state}/token`,
      `cat /proc/${process.pid}/root${state}/token`,
      `cat /proc/${holder.pid}/root${state}/token`,
      `cat /proc/${holder.pid}/cwd/token`,
      `cat /proc/${holder.pid}/fd/9`,
      `tr '\\0' '\\n' < /proc/${holder.pid}/environ`,
      `cat /proc/[0-9]*/environ | tr '\\0' '\\n'`,
      `cat /proc/[0-9]*/root${state}/token`,
      `cat /proc/[0-9]*/fd/* < /dev/null`,
      `head -c 100 /proc/${holder.pid}/mem`,
    ])
      expect(
        await wall.run(`timeout 5 sh -c ${JSON.stringify(command).replaceAll("$", "\\$")} 2>&1`),
        command,
      ).not.toContain(secret);
    // A process outside can be neither seen nor signalled.
    expect(await wall.run(`kill -9 ${holder.pid}`)).toContain("[Exit code 1]");
    expect(holder.exitCode).toBe(null);
  } finally {
    holder.kill("SIGKILL");
  }
});

test("[C13] mounting, unmounting and namespaces of one's own do not take the wall down", async () => {
  using wall = await walled();
  const { state, root } = wall.bench;
  for (const command of [
    `umount ${state}; cat ${state}/token`,
    `umount -l ${state}; cat ${state}/token`,
    `unshare -Urm sh -c 'umount ${state}; umount -l ${state}; cat ${state}/token'`,
    `mkdir m; mount --bind ${root} m; cat m/${basename(state)}/token`,
    `mkdir -p n; unshare -Urm sh -c 'mount --bind ${root} n; cat n/${basename(state)}/token'`,
    `mkdir -p o; unshare -Urm sh -c 'mount --rbind ${root} o; umount o/${basename(state)}; cat o/${basename(state)}/token'`,
    `nsenter -t 1 -m cat ${state}/token`,
    `chroot /proc/1/root cat ${state}/token`,
  ]) {
    const text = await wall.run(`${command} 2>&1`);
    expect(text, command).not.toContain(secret);
  }
});

test("[C13] a folder above the mask cannot be moved from inside, so that no later command finds it bare", async () => {
  using bench = workbench();
  const parent = join(bench.root, "share");
  const state = join(parent, "lichen/main");
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "token"), secret);
  const sandbox = await openSandbox({ mode: "require", mask: [state], cwd: bench.cwd });
  const tools = await bench.tools({ sandbox });
  for (const folder of [state, join(parent, "lichen"), parent, bench.root]) {
    const moved = await use(tools, "bash", { command: `mv -T ${folder} ${folder}-away` });
    expect(moved.isError, folder).toBe(true);
  }
  expect(existsSync(join(state, "token"))).toBe(true);
  expect((await use(tools, "bash", { command: `find ${bench.root} -name token` })).text).toBe(
    "(no output)",
  );
});

test("[C14] a process inside sees only what runs inside, and takes no terminal of the host", async () => {
  using wall = await walled();
  const pids = (await wall.run("ls /proc | grep -E '^[0-9]+$' | wc -l")).trim();
  expect(Number(pids)).toBeLessThan(10);
  expect(
    await wall.run(`test -e /proc/${process.pid}/cmdline && cat /proc/${process.pid}/cmdline`),
  ).not.toContain("node");
  expect(await wall.run("echo x > /dev/tty")).toContain("No such device");
});

test("[C15] the rest of the machine is as usual: files, owner, exit codes, output, temporary files", async () => {
  using wall = await walled();
  const outside = join(wall.bench.root, "outside.txt");
  expect(await wall.run(`id -u; echo kept > ${outside}; echo own > own.txt; pwd; exit 7`)).toBe(
    `${process.getuid?.()}\n${wall.bench.cwd}\n[Exit code 7]`,
  );
  expect(readFileSync(outside, "utf8")).toBe("kept\n");
  expect(statSync(join(wall.bench.cwd, "own.txt")).uid).toBe(process.getuid?.());
});

test("[C10] an abort asks what runs in the sandbox to end, and then ends it", async () => {
  using wall = await walled();
  const { cwd } = wall.bench;
  const cancel = new AbortController();
  const command = `
    setsid bash -c 'trap "" TERM; while true; do echo x >> beat; sleep 0.02; done' &
    trap 'echo tidied > tidy; exit 0' TERM; touch ready; while true; do sleep 0.02; done`;
  const running = use(wall.tools, "bash", { command }, { signal: cancel.signal });
  while (!existsSync(join(cwd, "ready")) || !existsSync(join(cwd, "beat")))
    await new Promise((resolve) => setTimeout(resolve, 5));
  cancel.abort(new Error("cancelled"));
  expect(await running).toMatchObject({ isError: true, data: { ended: "aborted" } });
  expect(readFileSync(join(cwd, "tidy"), "utf8")).toBe("tidied\n");
  const beats = statSync(join(cwd, "beat")).size;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(statSync(join(cwd, "beat")).size).toBe(beats);
});

test("[C16] required and not to be had, it is refused and says how to install it; auto says plainly that there is none", async () => {
  using bench = workbench();
  const options = { mask: [bench.state], cwd: bench.cwd, program: join(bench.root, "bwrap") };
  await expect(openSandbox({ ...options, mode: "require" })).rejects.toMatchObject({
    name: "Fault",
    code: "unavailable",
    message: expect.stringContaining("apt install bubblewrap"),
  });
  const sandbox = await openSandbox({ ...options, mode: "auto" });
  expect(sandbox).toMatchObject({ kind: "none", reason: expect.stringContaining("not found") });
  expect(sandbox.wrap(["ls"], { cwd: bench.cwd }).argv).toEqual(["ls"]);
  expect(await openSandbox({ mode: "off", mask: [], cwd: bench.cwd })).toMatchObject({
    kind: "none",
  });
});

test("[C16] a bubblewrap that is there and does not work counts as none, with its own reason", async () => {
  using bench = workbench();
  const program = join(bench.root, "bwrap");
  writeFileSync(
    program,
    "#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n",
    { mode: 0o755 },
  );
  const sandbox = await openSandbox({ mode: "auto", mask: [bench.state], cwd: bench.cwd, program });
  expect(sandbox).toMatchObject({
    kind: "none",
    reason: "bubblewrap does not work here: No permissions to create a new namespace",
  });
  const works = await openSandbox({ mode: "auto", mask: [bench.state], cwd: bench.cwd });
  expect(works.kind).toBe("bubblewrap");
});

test("[C17] a mask that does not exist is made, private; a masked file and a mask within a mask are hidden too", async () => {
  using bench = workbench();
  const later = join(bench.root, "later/credentials");
  const file = join(bench.root, "host.db");
  writeFileSync(file, secret);
  mkdirSync(join(bench.state, "inner"));
  const mask = [bench.state, join(bench.state, "inner"), later, file];
  const sandbox = await openSandbox({ mode: "require", mask, cwd: bench.cwd });
  expect(statSync(later).mode & 0o777).toBe(0o700);
  writeFileSync(join(later, "key"), secret);
  writeFileSync(join(bench.state, "inner/key"), secret);
  const tools = await bench.tools({ sandbox });
  const { text } = await use(tools, "bash", {
    command: `cat ${later}/key ${file} ${bench.state}/inner/key`,
  });
  expect(text).not.toContain(secret);
  expect(text).toContain("No such file");
});

test("[C17] a mask that is a link hides the place it leads to; one that was moved or replaced lets nothing run", async () => {
  using bench = workbench();
  writeFileSync(join(bench.state, "token"), secret);
  const link = join(bench.root, "link");
  symlinkSync(bench.state, link);
  const sandbox = await openSandbox({ mode: "require", mask: [link], cwd: bench.cwd });
  const tools = await bench.tools({ sandbox });
  const { text } = await use(tools, "bash", { command: `cat ${link}/token ${bench.state}/token` });
  expect(text).not.toContain(secret);
  renameSync(bench.state, join(bench.cwd, "moved"));
  mkdirSync(bench.state);
  const refused = await use(tools, "bash", { command: "cat moved/token" });
  expect(refused).toMatchObject({ isError: true });
  expect(refused.text).toContain("was moved or replaced");
});

test("[C17] a working directory inside a mask, and a mask that is no absolute path, are refused", async () => {
  using bench = workbench();
  const inside = join(bench.state, "work");
  mkdirSync(inside);
  symlinkSync(inside, join(bench.cwd, "way"));
  for (const cwd of [inside, bench.state, join(bench.cwd, "way")])
    await expect(openSandbox({ mode: "auto", mask: [bench.state], cwd })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("hidden from agents"),
    });
  const sandbox = await openSandbox({ mode: "require", mask: [bench.state], cwd: bench.cwd });
  expect(() => sandbox.wrap(["true"], { cwd: inside })).toThrow("hidden from agents");
  await expect(
    openSandbox({ mode: "auto", mask: ["state"], cwd: bench.cwd }),
  ).rejects.toMatchObject({ code: "invalid" });
});
