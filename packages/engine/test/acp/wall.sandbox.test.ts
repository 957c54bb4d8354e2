// These tests need a working bubblewrap and fail without one.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { processInfo } from "../../src/harness/host/processes.ts";
import type { HarnessWall } from "../../src/harness/port.ts";
import { openSandbox } from "../../src/tools/host/sandbox.ts";
import { Rig } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

/** An agent behind a real wall, which hides a folder of its own directory. */
async function start(): Promise<Rig> {
  let wall: HarnessWall | undefined;
  const rig = await Rig.start({
    furnish: async (folder) => {
      const dir = join(folder, "dir");
      const hidden = [join(dir, "state")];
      await mkdir(join(dir, "state"));
      await writeFile(join(dir, "state/token"), "canary-in-state");
      const sandbox = await openSandbox({ mode: "require", mask: hidden, cwd: dir });
      wall = Object.assign(
        (argv: readonly string[]) => sandbox.wrap(argv, { cwd: dir, isThere: true }),
        { hidden: () => hidden },
      );
      return {};
    },
    wall: Object.assign((argv: readonly string[]) => wall!(argv), {
      hidden: () => wall?.hidden?.() ?? [],
    }),
  });
  open.push(rig);
  return rig;
}

async function ran(rig: Rig, words: string): Promise<{ output: string; exitCode: number }> {
  return JSON.parse((await rig.prompt(words)).answer) as { output: string; exitCode: number };
}

test("[AC25] neither the agent, nor a terminal of it, nor its client reaches what the wall hides", async () => {
  const rig = await start();
  const said = await rig.prompt("read state/token");
  expect(said.answer).toMatch(/^refused: .*closed to tools/);
  expect(await ran(rig, "run cat state/token")).toMatchObject({
    exitCode: 1,
    output: expect.not.stringContaining("canary"),
  });
  expect((await rig.prompt("write state/mine x")).answer).toMatch(/^refused: .*closed to tools/);
  expect((await rig.prompt("write own.txt x")).answer).toBe("written");
  expect(await ran(rig, "run cat own.txt")).toMatchObject({ exitCode: 0, output: "x" });
});

test("[AC26] behind bubblewrap a command has the variables that the agent named, and bubblewrap has not", async () => {
  const rig = await start();
  expect(await ran(rig, "run printenv GREETING")).toMatchObject({ output: "hello\n" });
  // The first process in there is bubblewrap itself, with what it was given.
  const given = (name: string) =>
    ran(rig, `run sh -c tr\t'\\0'\t'\\n'\t</proc/1/environ\t|\tgrep\t-c\t^${name}=`);
  expect(await given("GREETING")).toMatchObject({ output: "0\n" });
  expect(await given("LICHEN_GIVEN_0")).toMatchObject({ output: "1\n" });
});

test("[AC10] behind bubblewrap nothing that a command leaves outlives it", async () => {
  const rig = await start();
  await writeFile(join(rig.dir, "leave.sh"), "setsid sleep 600 & exit 3\n");
  const began = performance.now();
  expect(await ran(rig, "run sh leave.sh")).toMatchObject({ exitCode: 3 });
  expect(performance.now() - began).toBeLessThan(8_000);
  await rig.prompt("background sleep 600");
  const { pid } = rig.engine.standing();
  await rig.engine.restart();
  expect((await processInfo(pid!))?.isDead ?? true).toBe(true);
});
