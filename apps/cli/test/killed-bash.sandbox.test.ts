// These tests need a working bubblewrap and fail without one.

import { existsSync, lstatSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteTool, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const config = `export default { codingTools: ["bash"], sandbox: "require" };\n`;
const command = "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo went on";
const lines = ["info", "tool", "sessions", "doctor", "models"];

/** What a sandbox lets stand where nothing was. */
function placeholders(dir: string): string[] {
  return readdirSync(dir).filter((name) => {
    const found = lstatSync(join(dir, name));
    return found.isDirectory() && (found.mode & 0o7777) === 0o1555;
  });
}

/** An agent in the middle of a command; nothing has a meaning to the host but its config and a tool. */
async function inCommand(home: Home) {
  const dir = await writeAgent(home, { "lichen.config.ts": config, "tools/note.ts": noteTool });
  const running = home.start(["tool", "bash", JSON.stringify({ command }), dir]);
  while (!existsSync(join(dir, "begun"))) await new Promise((wake) => setTimeout(wake, 5));
  const standing = placeholders(dir);
  expect(standing).toEqual(
    expect.arrayContaining([".secrets", "package.json", "lichen.config.js", "models.json"]),
  );
  return { dir, running, standing };
}

test("[C26] a process killed with SIGKILL in the middle of a command leaves a folder that every command reads, and that is cleared", async () => {
  await using home = await Home.make();
  const { dir, running, standing } = await inCommand(home);
  await running.stop("SIGKILL");
  expect(placeholders(dir)).toEqual(standing);
  for (const line of lines) {
    const { code, stderr } = await home.run([line, ...(line === "models" ? [] : [dir])], {
      cwd: dir,
    });
    expect({ line, code, stderr }).toMatchObject({ line, code: 0 });
    expect(stderr).not.toContain("models.json");
  }
  // The sandbox's processes end with the one that was killed, a moment later: then nothing holds what they stood on.
  for (let round = 0; placeholders(dir).length > 0 && round < 50; round++)
    expect((await home.run(["info", dir])).code).toBe(0);
  expect(placeholders(dir)).toEqual([]);
  await mkdir(join(dir, ".secrets"));
  await writeFile(join(dir, ".secrets/.env"), "OWN=made-up\n");
  await StartedHost.start(home, dir, ["--model", "demo"]);
  expect((await home.run(["invoke", "hello", dir])).code).toBe(0);
});

test("[C26] while a command runs, the folder reads as ever, for other commands and for a host, and none takes its ground away", async () => {
  await using home = await Home.make();
  const { dir, running, standing } = await inCommand(home);
  const host = await StartedHost.start(home, dir, ["--model", "demo"]);
  expect((await home.run(["invoke", "hello", dir])).code).toBe(0);
  for (const line of lines) {
    const { code, stderr } = await home.run([line, ...(line === "models" ? [] : [dir])], {
      cwd: dir,
    });
    expect({ line, code, stderr }).toMatchObject({ line, code: 0 });
    expect(stderr).not.toContain("models.json");
  }
  // Another command stands on the same ground, and ends first.
  const second = await home.run(["tool", "bash", '{"command":"true"}', dir]);
  expect(second.code).toBe(0);
  expect(placeholders(dir)).toEqual(standing);
  await writeFile(join(dir, "go"), "");
  expect((await running.ended).code).toBe(0);
  expect(running.stdout).toBe("went on\n");
  expect(host.running.stderr).not.toContain("models.json");
  for (let round = 0; placeholders(dir).length > 0 && round < 50; round++)
    expect((await home.run(["info", dir])).code).toBe(0);
  expect(placeholders(dir)).toEqual([]);
});
