import { spawn } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import type { JsonObject } from "@lichen/wire";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Tool } from "../../src/tool.ts";
import { use, type Workbench, workbench } from "./workbench.ts";

const secret = "canary-5f1c9a";
let bench: Workbench;
let tools: Tool[];

beforeEach(async () => {
  bench = workbench();
  mkdirSync(join(bench.state, "deep"));
  writeFileSync(join(bench.state, "token"), secret);
  writeFileSync(join(bench.state, "deep/store.db"), secret);
  tools = await bench.tools();
});
afterEach(() => bench[Symbol.dispose]());

/** Every tool that takes a path refuses it, tells nothing and changes nothing. */
async function expectClosed(file: string): Promise<void> {
  const folders = [bench.cwd, bench.state, join(bench.state, "deep")];
  const before = contentsOf(...folders);
  const uses: [string, JsonObject][] = [
    ["read", { path: file }],
    ["write", { path: file, content: "taken" }],
    ["edit", { path: file, edits: [{ oldText: secret, newText: "taken" }] }],
    ["grep", { pattern: "canary", path: file }],
    ["ls", { path: file }],
    ["find", { pattern: "*", path: file }],
  ];
  for (const [name, input] of uses) {
    const outcome = await use(tools, name, input);
    expect(outcome, `${name} of ${file}`).toMatchObject({ isError: true });
    expect(JSON.stringify(outcome)).not.toContain(secret);
  }
  expect(contentsOf(...folders)).toEqual(before);
}

async function expectClosedFolder(folder: string): Promise<void> {
  for (const [name, input] of [
    ["ls", { path: folder }],
    ["find", { pattern: "**", path: folder }],
    ["grep", { pattern: "canary", path: folder }],
    ["write", { path: `${folder}/new.txt`, content: "x" }],
    ["write", { path: `${folder}/new/deeper/x.txt`, content: "x" }],
  ] as const) {
    const outcome = await use(tools, name, input);
    expect(outcome, `${name} of ${folder}`).toMatchObject({ isError: true });
    expect(outcome.text).not.toContain("token");
  }
  expect(readdirSync(bench.state)).toEqual(["deep", "token"]);
}

function contentsOf(...folders: string[]): string[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path}: ${readFileSync(path, "utf8")}`);
}

test("[C8] the plain path of a protected folder and of what is in it is refused, and the reason says so", async () => {
  await expectClosed(join(bench.state, "token"));
  await expectClosed(join(bench.state, "deep/store.db"));
  await expectClosedFolder(bench.state);
  expect((await use(tools, "read", { path: join(bench.state, "token") })).text).toContain(
    "closed to tools",
  );
});

test("[C8] a path with `..`, doubled slashes or a dot leads nowhere else", async () => {
  const up = relative(bench.cwd, bench.state);
  await expectClosed(`${up}/token`);
  await expectClosed(`a/b/../../${up}/./deep/..//token`);
  await expectClosedFolder(up);
});

test("[C8] links to the folder, to a file in it, to a folder above it and to other links are seen through", async () => {
  symlinkSync(bench.state, join(bench.cwd, "folder"));
  symlinkSync(join(bench.state, "token"), join(bench.cwd, "file"));
  symlinkSync(bench.root, join(bench.cwd, "above"));
  symlinkSync("folder/deep", join(bench.cwd, "twice"));
  symlinkSync(join(bench.state, "made-later"), join(bench.cwd, "dangling"));
  await expectClosed("folder/token");
  await expectClosed("file");
  await expectClosed(`above/${basename(bench.state)}/token`);
  await expectClosed("twice/store.db");
  await expectClosedFolder("folder");
  await use(tools, "write", { path: "dangling", content: "x" });
  expect(readdirSync(bench.state)).toEqual(["deep", "token"]);
});

test("[C8] a protected path that is itself a link is closed at both ends", async () => {
  const link = join(bench.root, "state-link");
  symlinkSync(bench.state, link);
  tools = await bench.tools({ protectedPaths: [link] });
  await expectClosed(join(bench.state, "token"));
  await expectClosed(join(link, "token"));
});

test("[C8] a second hard link to a protected file is refused", async () => {
  linkSync(join(bench.state, "deep/store.db"), join(bench.cwd, "innocent.txt"));
  writeFileSync(join(bench.cwd, "first.txt"), "mine");
  linkSync(join(bench.cwd, "first.txt"), join(bench.cwd, "own.txt"));
  await expectClosed("innocent.txt");
  expect((await use(tools, "grep", { pattern: "canary" })).text).toBe("No line matches.");
  expect((await use(tools, "read", { path: "own.txt" })).text).toBe("mine");
});

test("[C8] the ways through /proc are closed: roots, descriptors, environments, memory", async () => {
  const inside = join(bench.state, "token").slice(1);
  symlinkSync("/proc/self/environ", join(bench.cwd, "environ"));
  symlinkSync("/proc/self/root", join(bench.cwd, "root"));
  for (const path of [
    `/proc/self/root/${inside}`,
    `/proc/thread-self/root/${inside}`,
    `/proc/${process.pid}/root/${inside}`,
    `/proc/1/root/${inside}`,
    `root/${inside}`,
    "/proc/self/environ",
    `/proc/${process.pid}/environ`,
    "environ",
    "/proc/self/mem",
    "/proc/self/maps",
  ])
    await expectClosed(path);
  const child = spawn("sleep", ["60"], { cwd: bench.state, stdio: "ignore" });
  await expectClosed(`/proc/${child.pid}/cwd/token`);
  child.kill("SIGKILL");
  expect((await use(tools, "read", { path: "/proc/meminfo" })).text).toContain("MemTotal");
});

test("[C8] a protected folder stays closed after it was moved, or one above it was", async () => {
  renameSync(bench.state, join(bench.cwd, "moved"));
  expect(await use(tools, "read", { path: "moved/token" })).toMatchObject({ isError: true });
  expect(await use(tools, "read", { path: "moved/deep/store.db" })).toMatchObject({
    isError: true,
  });
  expect((await use(tools, "grep", { pattern: "canary" })).text).toBe("No line matches.");
  expect(await use(tools, "write", { path: "moved/x", content: "x" })).toMatchObject({
    isError: true,
  });
});

test("[C8] a protected file, and one that does not exist yet, is closed like a folder", async () => {
  const store = join(bench.cwd, "host.db");
  const later = join(bench.cwd, "later");
  writeFileSync(store, secret);
  tools = await bench.tools({ protectedPaths: [store, later] });
  expect(await use(tools, "read", { path: "host.db" })).toMatchObject({ isError: true });
  expect(await use(tools, "write", { path: "host.db", content: "x" })).toMatchObject({
    isError: true,
  });
  expect(await use(tools, "write", { path: "later", content: "x" })).toMatchObject({
    isError: true,
  });
  expect(await use(tools, "write", { path: "later/x", content: "x" })).toMatchObject({
    isError: true,
  });
  mkdirSync(later);
  symlinkSync(later, join(bench.cwd, "way"));
  expect(await use(tools, "write", { path: "way/x", content: "x" })).toMatchObject({
    isError: true,
  });
  expect((await use(tools, "grep", { pattern: "canary" })).text).toBe("No line matches.");
});

test("[C8] a search from above passes protected places by", async () => {
  writeFileSync(join(bench.cwd, "open.txt"), "canary of my own");
  const found = await use(tools, "grep", { pattern: "canary", path: bench.root });
  expect(found.text).toBe("open.txt:1: canary of my own");
  const files = await use(tools, "find", { pattern: "**", path: bench.root });
  expect(files.text).not.toContain("token");
});

test("[C8] a link that is swapped in while a file is opened wins nothing", async () => {
  const flip = join(bench.cwd, "flip");
  mkdirSync(join(bench.cwd, "own"));
  writeFileSync(join(bench.cwd, "own/token"), "mine");
  const program = `
    const fs = require("node:fs");
    const [flip, own, state] = process.argv.slice(1);
    const until = Date.now() + 20_000;
    fs.symlinkSync(own, flip);
    process.stdout.write("ready");
    for (let turn = 0; Date.now() < until; turn++) {
      fs.symlinkSync(turn % 2 ? own : state, flip + "2");
      fs.renameSync(flip + "2", flip);
    }`;
  const child = spawn(
    process.execPath,
    ["-e", program, flip, join(bench.cwd, "own"), bench.state],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: {},
    },
  );
  await new Promise((resolve) => child.stdout.once("data", resolve));
  try {
    const texts = new Set<string>();
    for (let turn = 0; turn < 300; turn++) {
      texts.add((await use(tools, "read", { path: "flip/token" })).text);
      await use(tools, "write", { path: "flip/new.txt", content: "x" });
    }
    expect([...texts].join()).not.toContain(secret);
    expect(texts.has("mine")).toBe(true);
    expect(readdirSync(bench.state)).toEqual(["deep", "token"]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("[C8] what is not protected stays open, also outside the working directory and beside a like-named folder", async () => {
  const beside = `${bench.state}-not`;
  mkdirSync(beside);
  await use(tools, "write", { path: join(beside, "x.txt"), content: "open" });
  expect((await use(tools, "read", { path: join(beside, "x.txt") })).text).toBe("open");
});
