// These tests need a working bubblewrap and fail without one.

import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Tool } from "../../src/tool.ts";
import { openSandbox } from "../../src/tools/host/sandbox.ts";
import { use, type Workbench, workbench } from "./workbench.ts";

const own = "export default 'own';\n";
const names = [
  "lichen.config.ts",
  "lichen.config.js",
  "lichen.config.mjs",
  "models.json",
  "package.json",
  "node_modules",
  "tools",
  "channels",
];
let bench: Workbench;
let readOnly: string[];
let tools: Tool[];

/** An agent that works in its own folder: some of what is read-only stands there, some does not. */
beforeEach(async () => {
  bench = workbench();
  mkdirSync(join(bench.cwd, "tools"));
  mkdirSync(join(bench.cwd, "lib"));
  for (const name of ["lichen.config.ts", "tools/own.ts", "lib/loaded.ts", "lib/free.ts"])
    writeFileSync(join(bench.cwd, name), own);
  readOnly = [...names, "lib/loaded.ts"].map((name) => join(bench.cwd, name));
  tools = await walledTools();
});
afterEach(() => bench[Symbol.dispose]());

async function walledTools(): Promise<Tool[]> {
  const sandbox = await openSandbox({ mode: "require", mask: [bench.state], cwd: bench.cwd });
  return bench.tools({ sandbox, readOnly: () => readOnly });
}

const run = (command: string) => use(tools, "bash", { command });
const write = (path: string) => use(tools, "write", { path, content: "evil" });

/** All files below the working directory, with what is in them. */
function standing(folder = bench.cwd): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true, recursive: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, entry.isFile() ? readFileSync(path, "utf8") : "folder"];
    }),
  );
}

async function expectRefused(path: string): Promise<void> {
  const before = standing();
  const edit = { path, edits: [{ oldText: "own", newText: "evil" }] };
  for (const outcome of [await write(path), await use(tools, "edit", edit)])
    expect(outcome, path).toMatchObject({ isError: true });
  expect(standing(), path).toEqual(before);
}

async function expectKept(command: string): Promise<void> {
  const before = standing();
  const outcome = await run(command);
  expect(outcome, command).toMatchObject({ isError: true });
  // Across a mount, moving is copying and removing: the copy is the agent's own.
  rmSync(join(bench.cwd, "gone"), { recursive: true, force: true });
  expect(standing(), command).toEqual(before);
}

test("[C19] the host's code can be read; the refusal to change it says why and what to do", async () => {
  expect((await use(tools, "read", { path: "tools/own.ts" })).text).toContain("own");
  const refused = await write("tools/own.ts");
  expect(refused.text).toContain("belongs to what runs outside the sandbox");
  expect(refused.text).toContain("change it outside the agent");
  expect(await write("work/mine.ts")).toMatchObject({ isError: false });
});

test("[C19] write and edit change no read-only file, by its name, through `..`, a doubled slash or /proc", async () => {
  for (const path of [
    "tools/own.ts",
    "lib/../tools//own.ts",
    "lib/loaded.ts",
    join(bench.cwd, "lichen.config.ts"),
    `/proc/self/root${bench.cwd}/tools/own.ts`,
  ])
    await expectRefused(path);
  const free = await use(tools, "edit", {
    path: "lib/free.ts",
    edits: [{ oldText: "own", newText: "mine" }],
  });
  expect(free.isError).toBe(false);
});

test("[C19] write makes nothing new in a read-only folder, nor a read-only path that does not exist yet", async () => {
  for (const path of [
    "tools/evil.ts",
    "tools/deep/evil.ts",
    "lichen.config.js",
    "package.json",
    "node_modules/zod/index.js",
    "channels/evil.ts",
    "tools",
  ])
    await expectRefused(path);
  expect(existsSync(join(bench.cwd, "node_modules"))).toBe(false);
});

test("[C19] write sees through links to a file, to a folder, to a folder above, and a link that dangles", async () => {
  symlinkSync("tools", join(bench.cwd, "way"));
  symlinkSync("tools/own.ts", join(bench.cwd, "file"));
  symlinkSync(bench.cwd, join(bench.cwd, "lib/above"));
  symlinkSync("node_modules", join(bench.cwd, "later"));
  for (const path of ["way/own.ts", "way/evil.ts", "file", "lib/above/tools/own.ts"]) {
    expect(await write(path), path).toMatchObject({ isError: true });
    expect(readFileSync(join(bench.cwd, "tools/own.ts"), "utf8")).toBe(own);
  }
  expect(await write("lib/above/node_modules/zod/index.js")).toMatchObject({ isError: true });
  expect(await write("later/zod/index.js")).toMatchObject({ isError: true });
  expect(readdirSync(join(bench.cwd, "tools"))).toEqual(["own.ts"]);
  expect(existsSync(join(bench.cwd, "node_modules"))).toBe(false);
});

test("[C19] write refuses a second hard link to a read-only file, and bash runs nothing while there is one", async () => {
  linkSync(join(bench.cwd, "tools/own.ts"), join(bench.cwd, "lib/second.ts"));
  await expectRefused("lib/second.ts");
  const { text } = await run("echo evil >> lib/second.ts");
  expect(text).toContain("second name");
  expect(readFileSync(join(bench.cwd, "tools/own.ts"), "utf8")).toBe(own);
});

test("[C19] the list is asked for at each call: what the host loads later is closed from then on", async () => {
  expect(await write("lib/free.ts")).toMatchObject({ isError: false });
  readOnly.push(join(bench.cwd, "lib/free.ts"));
  await expectRefused("lib/free.ts");
  await expectKept("echo x >> lib/free.ts");
});

test("[C20] a command reads the host's code, works beside it, and is told why it cannot change it", async () => {
  expect((await run("cat tools/own.ts lib/loaded.ts; echo mine > mine.txt")).text).toContain("own");
  expect(readFileSync(join(bench.cwd, "mine.txt"), "utf8")).toBe("mine\n");
  const { text } = await run("echo evil > tools/own.ts");
  expect(text).toContain("Read-only file system");
  expect(text).toContain("run outside the sandbox and are read-only here");
  for (const act of ["echo evil > package.json", "mkdir node_modules"])
    expect((await run(act)).text, act).toContain("run outside the sandbox and are read-only here");
  expect((await run("echo fine; mkdir lib")).text).not.toContain("which the host runs");
});

test("[C20] a command neither changes, truncates, removes, replaces nor re-permits what is read-only", async () => {
  for (const path of ["tools/own.ts", "lichen.config.ts", "lib/loaded.ts"])
    for (const act of [
      `echo evil > ${path}`,
      `truncate -s 0 ${path}`,
      `rm -f ${path}`,
      `mv ${path} gone`,
      `echo evil > e && mv -f e ${path}; c=$?; rm -f e; exit $c`,
      `chmod 777 ${path}`,
      `ln ${path} alias`,
    ])
      await expectKept(act);
});

test("[C20] what does not exist yet cannot be made by a command: file, folder, link, or something moved there", async () => {
  for (const name of ["lichen.config.js", "package.json", "node_modules", "channels"])
    for (const act of [
      `echo evil > ${name}`,
      `mkdir -p ${name}/zod && echo evil > ${name}/zod/index.js`,
      `ln -sfT lib ${name}`,
      `cp -rT lib ${name}`,
      `rmdir ${name} && cp -r lib ${name}`,
      `mv -T ${name} gone`,
      `mkdir f && mv -T f ${name}; c=$?; rmdir f; exit $c`,
    ])
      await expectKept(act);
});

test("[C20] nothing is left where a path did not exist, also with commands at the same time", async () => {
  const long = run("touch begun; while [ ! -e go ]; do sleep 0.02; done; mkdir node_modules");
  while (!existsSync(join(bench.cwd, "begun"))) await new Promise((wake) => setTimeout(wake, 5));
  expect((await run("mkdir channels")).isError).toBe(true);
  expect(existsSync(join(bench.cwd, "node_modules"))).toBe(true);
  await write("go");
  expect((await long).isError).toBe(true);
  expect(readdirSync(bench.cwd).toSorted()).toEqual(
    ["begun", "go", "lib", "lichen.config.ts", "tools"].toSorted(),
  );
});

test("[C20] what the owner puts where nothing was while a command runs stays", async () => {
  const running = run("touch begun; while [ ! -e go ]; do sleep 0.02; done; ls node_modules");
  while (!existsSync(join(bench.cwd, "begun"))) await new Promise((wake) => setTimeout(wake, 5));
  const mine = join(bench.cwd, "node_modules/mine.js");
  writeFileSync(mine, own);
  await write("go");
  expect((await running).text).toContain("mine.js");
  expect(readFileSync(mine, "utf8")).toBe(own);
  expect(lstatSync(mine).isFile()).toBe(true);
});

test("[C20] a placeholder that a crash left is read-only like any, and taken away after the next command", async () => {
  const left = join(bench.cwd, "channels");
  mkdirSync(left);
  chmodSync(left, 0o1555);
  expect((await run("echo evil > channels/evil.ts")).isError).toBe(true);
  expect(existsSync(left)).toBe(false);
});

test("[C20] a folder above cannot be moved away, nor the working directory, so that no other takes its place", async () => {
  const deep = join(bench.cwd, "a/b/agent");
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, "tool.ts"), own);
  readOnly = [deep, join(bench.cwd, "a/c/later.ts")];
  for (const act of [
    "mv a gone",
    "mv a/b gone",
    "mv a/b/agent gone",
    `mv -T ${bench.cwd} ${bench.cwd}-gone`,
    `mv -T ${bench.root} ${bench.root}-gone`,
    "mkdir -p a/c && echo evil > a/c/later.ts",
    "rm -rf a",
  ])
    await expectKept(act);
});

test("[C20] links lead to the read-only place, and one that is part of the agent's code lets nothing run", async () => {
  symlinkSync("tools", join(bench.cwd, "way"));
  await expectKept("echo evil > way/own.ts");
  await expectKept("echo evil > way/evil.ts");
  readOnly = [join(bench.cwd, "way")];
  const { text, isError } = await run("ln -sfT lib way");
  expect(isError).toBe(true);
  expect(text).toContain("way is a link");
});

test("[C20] a link in another folder is kept by its folder, and so is what it leads to", async () => {
  mkdirSync(join(bench.cwd, "links"));
  symlinkSync("../lib", join(bench.cwd, "links/lib"));
  readOnly = [join(bench.cwd, "links/lib")];
  await expectKept("ln -sfT ../tools links/lib");
  await expectKept("echo evil > lib/free.ts");
  await expectKept("mv links gone");
});

test("[C20] no mount, namespace or root directory inside makes it writable again", async () => {
  for (const act of [
    "mount -o remount,rw tools",
    "umount tools && echo evil > tools/own.ts",
    "unshare -Urm sh -c 'mount -o remount,bind,rw tools; umount tools; echo evil > tools/own.ts'",
    "unshare -Urm sh -c 'mkdir -p /tmp/m-$$; mount --bind . /tmp/m-$$ && echo evil > /tmp/m-$$/tools/own.ts'",
    `echo evil > /proc/self/root${"$PWD"}/tools/own.ts`,
    `echo evil > /proc/1/root${"$PWD"}/tools/own.ts`,
    `echo evil > /proc/1/cwd/tools/own.ts`,
  ]) {
    await run(act);
    expect(readFileSync(join(bench.cwd, "tools/own.ts"), "utf8"), act).toBe(own);
  }
});

test("[C20] a mask within a read-only folder stays empty, and the folder around it read-only", async () => {
  const agent = join(bench.cwd, "agent");
  const secrets = join(agent, "deep/.secrets");
  mkdirSync(secrets, { recursive: true });
  writeFileSync(join(secrets, "key"), "canary-77");
  const sandbox = await openSandbox({ mode: "require", mask: [secrets], cwd: bench.cwd });
  readOnly = [agent];
  tools = await bench.tools({ sandbox, protectedPaths: [secrets], readOnly: () => readOnly });
  expect((await run("cat agent/deep/.secrets/*")).text).not.toContain("canary-77");
  for (const act of ["echo x > agent/x", "echo x > agent/deep/x", "mv agent/deep agent/gone"])
    await expectKept(act);
});

test("[C20] a command that is stopped leaves no moment in which a path can be made", async () => {
  const command =
    "trap '' TERM; exec > /dev/null 2>&1; for i in 1 2 3 4; do setsid sh -c \"trap '' TERM; while :; do mkdir channels && cp lib/free.ts channels/evil.ts; done\" & done; while :; do :; done";
  for (let round = 0; round < 2; round++)
    await use(tools, "bash", { command, timeout: 0.2 + round / 10 });
  expect(existsSync(join(bench.cwd, "channels"))).toBe(false);
  expect(statSync(join(bench.cwd, "lib")).isDirectory()).toBe(true);
});
