import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Environments, loadEnvironment } from "../src/environment.ts";

const name = "LICHEN_TEST_OF_ENVIRONMENT";
let root: string;
let dir: string;
let file: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "environment-"));
  dir = join(root, "bot");
  file = join(dir, ".secrets/.env");
  await mkdir(join(dir, ".secrets"), { recursive: true });
});
afterEach(async () => {
  delete process.env[name];
  await rm(root, { recursive: true });
});

test("[F17] .secrets/.env may be a link inside the agent's folder, and none that leaves it", async () => {
  expect(await loadEnvironment(dir)).toEqual([]);
  await writeFile(join(root, "outside"), `${name}=outside\n`);
  await symlink(join(root, "outside"), file);
  await expect(loadEnvironment(dir)).rejects.toMatchObject({ code: "invalid" });
  await rm(file);
  await writeFile(join(dir, ".secrets/real"), `${name}=inside\n`);
  await symlink("real", file);
  expect(await loadEnvironment(dir)).toEqual([name]);
  expect(process.env[name]).toBe("inside");
});

test("[F18] a pipe, a folder or a huge file as .secrets/.env is refused and holds nobody up", async () => {
  execFileSync("mkfifo", [file]);
  await expect(loadEnvironment(dir)).rejects.toMatchObject({
    message: expect.stringContaining("not a regular file"),
  });
  await rm(file);
  await mkdir(file);
  await expect(loadEnvironment(dir)).rejects.toMatchObject({ code: "invalid" });
  await rm(file, { recursive: true });
  await writeFile(file, `${name}=1\n`);
  await truncate(file, 3 * 1_024 ** 3);
  await expect(loadEnvironment(dir)).rejects.toMatchObject({
    message: expect.stringContaining("larger than 1 MiB"),
  });
});

test("[UP18] of two agents in one process each reads its own file's variables; what the code of one's tools would not see is told", async () => {
  const other = join(root, "other");
  await mkdir(join(other, ".secrets"), { recursive: true });
  await writeFile(file, `${name}=first\nPATH=changed\n`);
  await writeFile(join(other, ".secrets/.env"), `${name}=second\n`);
  const environments = new Environments();
  const first = await environments.of(dir);
  const second = await environments.of(other);
  expect([first.env(name), second.env(name)]).toEqual(["first", "second"]);
  expect(first.env("PATH")).toBe(process.env["PATH"]);
  expect([first.secretEnv(name), second.secretEnv(name)]).toEqual([undefined, undefined]);
  expect(process.env[name]).toBe("first");
  expect([first.hidden, second.hidden]).toEqual([[], [name]]);
  // What is handed to coding agents is what was exported.
  expect(environments.exported[name]).toBeUndefined();
});
