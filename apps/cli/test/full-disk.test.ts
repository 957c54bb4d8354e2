// What a full disk is called: by its name, at once, and never another process.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { writeAgent } from "./agent.ts";
import { Home } from "./process.ts";

const run = promisify(execFile);
/** Less than any command waits for another process, and more than a busy computer takes. */
const slow = { timeout: 120_000 };

/** A disk without a byte of space for whoever comes; undefined where this user may mount none. */
async function fullDisk(home: Home): Promise<(AsyncDisposable & { path: string }) | undefined> {
  const path = home.path("disk");
  await mkdir(path);
  const options = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", path];
  const isMounted = await run("mount", options).then(
    () => true,
    () => false,
  );
  if (!isMounted) return undefined;
  await mkdir(join(path, "lichen"), { mode: 0o700 });
  for (let bytes = 65_536; bytes >= 1; bytes /= 2)
    await writeFile(join(path, `filler-${bytes}`), new Uint8Array(bytes)).catch(() => undefined);
  return { path, [Symbol.asyncDispose]: async () => void (await run("umount", ["-l", path])) };
}

test(
  "[K25] where the disk is full, commands and a login say that at once, and name no other process",
  slow,
  async ({ skip }) => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await using disk = await fullDisk(home);
    if (!disk) return skip("this user may not mount a small disk");
    const state = join(disk.path, "lichen");
    const env = { XDG_DATA_HOME: disk.path };
    for (const args of [
      ["send", "s", "hello", dir, "--new", "--state", state],
      ["invoke", "hello", dir, "--state", state],
      ["sessions", dir, "--state", state],
      ["login", "groq", "--key-stdin"],
    ]) {
      const began = performance.now();
      const { code, stdout, stderr } = await home.run(args, { env, input: "made-up-key" });
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toMatch(/disk/);
      expect(stderr).not.toMatch(/another process|too long|at .*\.ts:/);
      expect(performance.now() - began).toBeLessThan(9_000);
    }
  },
);
