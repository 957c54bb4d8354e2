import { copyFile, mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { bin, Home } from "./process.ts";

/** A module that makes the Node that loads it pass for an older one. */
const older = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.19.0"})`;

test("[K4] under an older Node it says which one it needs and how to get it", async () => {
  await using home = await Home.make();
  const alone = home.path("apps", "cli", "bin");
  await mkdir(alone, { recursive: true });
  await copyFile(bin, home.path("apps", "cli", "bin", "lichen.mjs"));
  const { code, stdout, stderr } = await home.run(["--version"], {
    program: [process.execPath, "--import", older, home.path("apps", "cli", "bin", "lichen.mjs")],
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/needs Node 24\.12 or newer; this is Node 20\.19\.0/);
  expect(stderr).toContain("nvm install 24");
});

test("[K4] in a clone it starts again under the clone's own Node, with the same answer and code", async () => {
  await using home = await Home.make();
  const old = home.path("old-node");
  await copyFile(process.execPath, old);
  const under = (args: string[]) => home.run(args, { program: [old, "--import", older, bin] });
  expect(await under(["--version"])).toEqual(await home.run(["--version"]));
  expect(await under(["strat"])).toEqual(await home.run(["strat"]));
});
