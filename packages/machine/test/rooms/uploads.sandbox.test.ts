// These tests need a working bubblewrap and fail without one.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openWall } from "../../src/access/index.ts";
import { uploadsOf } from "../../src/index.ts";
import { AccessRig } from "../access/rig.ts";

test("[AD53] a process of an agent reads the files that came for its session, also those that came after it began, and no other's", async () => {
  await using rig = await AccessRig.open();
  const { id } = await rig.make("work");
  const other = await rig.make("other");
  const dir = join(rig.root, "home", "work");
  mkdirSync(dir, { recursive: true });
  const { stateDir } = rig;
  const wall = await openWall({
    ...{ mode: "require", mask: [stateDir], sockets: rig.access.sockets },
    places: { env: {}, home: join(rig.root, "home") },
    shown: (agent) => [uploadsOf(stateDir, agent)],
  });
  const script = 'echo ready; while read -r path; do cat "$path" 2>&1; echo x >"$path"; echo; done';
  const walled = wall.around({ id, dir })(["bash", "-c", `exec 2>/dev/null; ${script}`]);
  const [file = "", ...argv] = walled.argv;
  const child = spawn(file, argv, { cwd: dir, env: { PATH: process.env["PATH"] }, stdio: "pipe" });
  const answers = child.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
  expect((await answers.next()).value).toBe("ready\n");
  const put = async (name: string, text: string): Promise<string> => {
    const answer = await fetch(`${rig.host.url}/v1/sessions/${name}/files?name=a.txt`, {
      method: "POST",
      headers: { authorization: `Bearer ${rig.host.token}` },
      body: text,
    });
    return ((await answer.json()) as { path: string }).path;
  };
  const [own, foreign] = [await put("work", "for me"), await put("other", "for another")];
  const read = async (path: string): Promise<string> => {
    child.stdin.write(`${path}\n`);
    let said = "";
    while (!said.endsWith("\n")) said += String((await answers.next()).value);
    return said.trim();
  };
  expect(await read(own)).toBe("for me");
  expect(await read(own)).toBe("for me");
  expect(await read(foreign)).not.toContain("another");
  expect(other.id).not.toBe(id);
  child.stdin.end();
  await new Promise((resolve) => child.once("exit", resolve));
  walled.release();
});
