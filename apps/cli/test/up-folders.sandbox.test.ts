// These tests need a working bubblewrap and fail without one.

import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteTool, writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

test("[DV36] wherever it works, a coding agent changes nothing that the host runs of a folder's agent, and sees none of its secrets", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    ".secrets/.env": "MADE_UP_KEY=folders-own\n",
    "tools/note.ts": noteTool,
    "docs/a.md": "a\n",
  });
  const machine = await StartedMachine.start(home, [dir]);
  await machine.running.until(({ stderr }) => /sandbox: bubblewrap/.exec(stderr) ?? undefined);
  const targets = ["tools/evil.ts", "lichen.config.mjs", "extensions/evil.ts"];
  const attempts = [
    `echo evil > ${dir}/tools/note.ts; rm ${dir}/tools/note.ts`,
    ...targets.map((name) => `mkdir -p $(dirname ${dir}/${name}); cp evil.ts ${dir}/${name}`),
    `mv ${dir}/tools ${dir}/t && mkdir ${dir}/tools && cp evil.ts ${dir}/tools/evil.ts`,
    `mv ${dir} ${dir}2`,
    `cat ${dir}/.secrets/.env`,
    `echo noted > mine.txt`,
    `echo the-end`,
  ];
  await mkdir(home.path("demo"));
  for (const [name, cwd] of [
    ["outside", home.path("demo")],
    ["above", home.path(".")],
    ["inside", dir],
    ["below", join(dir, "docs")],
  ] as const) {
    await writeFile(join(cwd, "evil.ts"), noteTool);
    const found = join(cwd, "found.txt");
    const program = home.path(`${name}.sh`);
    await writeFile(program, `#!/bin/sh\n{ ${attempts.join("; ")}; } > ${found} 2>&1\n`, {
      mode: 0o755,
    });
    const body = { name, dir: cwd, harness: "acp", command: [program] };
    expect((await machine.ask("/v1/sessions", body)).status).toBe(201);
    await home.run(["send", name, "hello", "--wait"]);
    const said = await readFile(found, "utf8");
    expect(said, name).toContain("the-end");
    expect(said, name).not.toContain("folders-own");
    expect(await readFile(join(cwd, "mine.txt"), "utf8"), name).toBe("noted\n");
    for (const target of targets) expect(existsSync(join(dir, target)), name).toBe(false);
    expect(await readFile(join(dir, "tools/note.ts"), "utf8"), name).toBe(noteTool);
    expect(existsSync(`${dir}2`)).toBe(false);
  }
});

test("[DV36] a coding agent puts nothing where a folder's agent was, which the next start would serve", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const first = await StartedMachine.start(home, [dir]);
  expect(await first.running.stop("SIGTERM")).toBe(0);
  const moved = home.path("moved");
  await rename(dir, moved);
  const machine = await StartedMachine.start(home);
  await machine.running.until(({ stderr }) => /agent is not served/.exec(stderr) ?? undefined);
  await mkdir(home.path("demo"));
  const program = home.path("demo.sh");
  const attempts = [
    `cp -r ${moved}/. ${dir}`,
    `mkdir -p ${dir}/.lichen; cp ${moved}/lichen.config.ts ${dir}; cp ${moved}/.lichen/* ${dir}/.lichen`,
    `ln -s ${moved} ${dir}`,
    `mv ${moved} ${dir}`,
    `touch tried`,
  ];
  await writeFile(program, `#!/bin/sh\n${attempts.join("\n")}\n`, { mode: 0o755 });
  const body = { name: "demo", dir: home.path("demo"), harness: "acp", command: [program] };
  expect((await machine.ask("/v1/sessions", body)).status).toBe(201);
  await home.run(["send", "demo", "hello", "--wait"]);
  expect(existsSync(home.path("demo/tried"))).toBe(true);
  expect(await machine.running.stop("SIGTERM")).toBe(0);
  expect(existsSync(dir)).toBe(false);
  // Its owner puts it back.
  await rename(moved, dir);
  const last = await StartedMachine.start(home);
  await last.running.until(
    ({ stderr }) => /agent agent: agent-\w+, from/.exec(stderr) ?? undefined,
  );
});
