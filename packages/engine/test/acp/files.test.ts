import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AgentFiles } from "../../src/acp/host/files.ts";
import type { HarnessWall } from "../../src/harness/port.ts";

const secret = "canary-77a1";
let root: string;
let dir: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "lichen-acp-files-")));
  dir = join(root, "dir");
  mkdirSync(dir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A wall that stands nowhere, and says what it would hide. */
function filesBehind(it: Pick<HarnessWall, "hidden" | "readOnly">): AgentFiles {
  const wall = (argv: readonly string[]) => ({ argv, release: () => {} });
  return new AgentFiles({ dir, wall: Object.assign(wall, it) });
}

test("[AC25] what the wall hides is neither read nor written for the agent, under no name, also in its own directory", async () => {
  const state = join(dir, ".local/state/lichen");
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "token"), secret);
  symlinkSync(state, join(dir, "way"));
  symlinkSync(join(state, "token"), join(dir, "soft"));
  linkSync(join(state, "token"), join(dir, "hard"));
  const files = filesBehind({ hidden: () => [state] });
  for (const path of [join(state, "token"), "way/token", "soft", "hard"]) {
    await expect(files.read(path)).rejects.toMatchObject({ code: "denied" });
    await expect(files.write(path, "mine")).rejects.toMatchObject({ code: "denied" });
  }
  for (const path of ["way/new", ".local/state/lichen/a/b"])
    await expect(files.write(path, "mine")).rejects.toMatchObject({ code: "denied" });
  await expect(files.folder("way")).rejects.toMatchObject({ code: "denied" });
  renameSync(state, join(dir, "moved"));
  await expect(files.read("moved/token")).rejects.toMatchObject({ code: "denied" });
  expect(readdirSync(join(dir, "moved"))).toEqual(["token"]);
  expect(readFileSync(join(dir, "moved/token"), "utf8")).toBe(secret);
});

test("[AC25] what the wall keeps read-only is read for the agent and not written, there or not yet", async () => {
  writeFileSync(join(dir, "lichen.config.ts"), "config");
  symlinkSync(join(dir, "lichen.config.ts"), join(dir, "other.ts"));
  const kept = [join(dir, "lichen.config.ts"), join(dir, "tools")];
  const files = filesBehind({ readOnly: () => kept });
  expect(await files.read("lichen.config.ts")).toBe("config");
  for (const path of ["lichen.config.ts", "other.ts", "tools/new.ts", "tools"])
    await expect(files.write(path, "mine")).rejects.toMatchObject({ code: "denied" });
  expect(readFileSync(join(dir, "lichen.config.ts"), "utf8")).toBe("config");
  expect(existsSync(join(dir, "tools"))).toBe(false);
  await files.write("free.ts", "mine");
  kept.push(join(dir, "free.ts"));
  await expect(files.write("free.ts", "again")).rejects.toMatchObject({ code: "denied" });
});

test("[AC9] a link that is swapped in between the check and the use leads nowhere", async () => {
  const beyond = join(root, "beyond");
  mkdirSync(beyond);
  writeFileSync(join(beyond, "a.txt"), secret);
  mkdirSync(join(dir, "own"));
  writeFileSync(join(dir, "own/a.txt"), "mine");
  const flip = join(dir, "flip");
  const swapping = `
    const fs = require("node:fs");
    const [flip, own, beyond] = process.argv.slice(1);
    fs.symlinkSync(own, flip);
    console.log("ready");
    for (let turn = 0; ; turn++) {
      fs.symlinkSync(turn % 2 ? own : beyond, flip + "2");
      fs.renameSync(flip + "2", flip);
    }`;
  const child = spawn(process.execPath, ["-e", swapping, flip, join(dir, "own"), beyond], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {},
  });
  await once(child.stdout, "data");
  try {
    const files = filesBehind({});
    const texts = new Set<string>();
    for (let turn = 0; turn < 500; turn++) {
      texts.add(await files.read("flip/a.txt").catch(String));
      await files.write("flip/a.txt", "mine").catch(() => {});
      await files.write("flip/new/deep/b.txt", "mine").catch(() => {});
    }
    expect([...texts].join()).not.toContain(secret);
    expect(texts.has("mine")).toBe(true);
    expect(readdirSync(beyond)).toEqual(["a.txt"]);
    expect(readFileSync(join(beyond, "a.txt"), "utf8")).toBe(secret);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

test("[AC9] a link that is put in the place of the directory itself widens nothing", async () => {
  writeFileSync(join(root, "secret.txt"), secret);
  const files = filesBehind({});
  renameSync(dir, join(root, "gone"));
  symlinkSync(root, dir);
  await expect(files.read("secret.txt")).rejects.toMatchObject({ code: "denied" });
  await expect(files.write("new.txt", "mine")).rejects.toMatchObject({ code: "denied" });
  expect(existsSync(join(root, "new.txt"))).toBe(false);
});
