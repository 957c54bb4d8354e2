// The scripts of package.json: what npm is told reaches the host.

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { Home, repository } from "./process.ts";

test.for(["SIGTERM", "SIGINT"] as const)(
  "[K26] %s to npm ends the host that a script started",
  async (signal) => {
    await using home = await Home.make();
    const state = home.path("state");
    const args = ["start", "--silent", "--", "--port", "0", "--state", state, "--json"];
    const npm = home.start(args, { cwd: repository, program: ["npm"] });
    const { url } = JSON.parse(await npm.firstLine()) as { url: string };
    expect(existsSync(home.path("state", "host.json"))).toBe(true);
    npm.child.kill(signal);
    // Its end closes the streams that it shares with npm.
    await npm.ended;
    expect(existsSync(home.path("state", "host.json"))).toBe(false);
    await expect(fetch(new URL("/health", url))).rejects.toThrow("fetch failed");
  },
);
