// These tests need a working bubblewrap and fail without one.

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

test("[UP23] under up no process of a coding agent reads the machine's state, its socket apart, or the secrets that were read for folders' agents", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { ".secrets/.env": "MADE_UP_KEY=folders-own\n" });
  const machine = await StartedMachine.start(home, [dir]);
  await machine.running.until(
    ({ stderr }) => /sandbox: bubblewrap hides the machine/.exec(stderr) ?? undefined,
  );
  const state = home.path(".local/share/lichen/machine");
  expect(existsSync(`${state}/token`)).toBe(true);
  expect(existsSync(`${state}/agents.json`)).toBe(true);
  const found = home.path("demo/found.txt");
  const look = [
    `cat ${state}/token ${state}/host.db ${state}/agents.json ${state}/devices.db`,
    `ls -A ${state}`,
    `ls -A ${home.path(".local/share/lichen")}`,
    `cat /proc/*/environ | tr '\\0' '\\n' | grep MADE_UP_KEY`,
    `echo the-end`,
  ];
  const program = home.path("look.sh");
  await writeFile(program, `#!/bin/sh\n{ ${look.join("; ")}; } > ${found} 2>&1\n`, { mode: 0o755 });
  const body = { name: "demo", dir: home.path("demo"), harness: "acp", command: [program] };
  expect((await machine.ask("/v1/sessions", body)).status).toBe(201);
  await home.run(["send", "demo", "hello", "--wait"]);
  const said = await readFile(found, "utf8");
  expect(said).toContain("the-end");
  expect(said).not.toContain(machine.token);
  expect(said).not.toContain("folders-own");
  expect(said).not.toContain("SQLite format");
  expect(said.match(/No such file|Permission denied/g)?.length).toBeGreaterThanOrEqual(4);
});
