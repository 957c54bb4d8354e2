import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownHarnesses } from "../../src/index.ts";
import { Rig } from "../rig.ts";

const agent = join(import.meta.dirname, "../../../engine/test/acp/agent.ts");

/** Those that the agent has noted of itself. */
function processes(state: string): number[] {
  return readFileSync(join(state, "journal.jsonl"), "utf8")
    .split("\n")
    .flatMap((line) => (line.includes('"began"') ? [Number(/\d+/.exec(line)?.[0])] : []));
}

test("[MA24] a program that moves is found at its new place by the next process, and one that goes is missed", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const [old, now] = [
    join(rig.home, ".local/bin/my-agent"),
    join(rig.home, ".claude/local/my-agent"),
  ];
  for (const folder of [old, now]) mkdirSync(join(folder, ".."), { recursive: true });
  const state = join(rig.root, "agent-state");
  const begins = `process.argv.splice(2, 0, ${JSON.stringify(state)}, "--load"); import(${JSON.stringify(agent)});`;
  writeFileSync(old, `#!/usr/bin/env node\n${begins}\n`, { mode: 0o755 });
  await rig.make("a", { harness: "acp", command: ["my-agent"] });
  await rig.send("a", "say one");
  await rig.until("a", (it) => it.turns === 1);

  renameSync(old, now);
  expect((await rig.tell("/v1/sessions/a/restart", { method: "POST" })).status).toBe(204);
  await rig.send("a", "count");
  await rig.until("a", (it) => it.turns === 2 && it.preview === "prompt 2");

  rmSync(now);
  const refusal = {
    status: 409,
    body: { error: expect.stringContaining("my-agent is not on this machine") },
  };
  expect(await rig.tell("/v1/sessions/a/restart", { method: "POST" })).toMatchObject(refusal);
  expect(await rig.info("a")).toMatchObject({ running: true, missing: expect.any(String) });
  const [began] = processes(state).slice(-1);
  process.kill(began!, "SIGKILL");
  await rig.until("a", (it) => !it.running);
  expect(await rig.send("a", "say three")).toMatchObject(refusal);

  writeFileSync(old, `#!/usr/bin/env node\n${begins}\n`, { mode: 0o755 });
  expect((await rig.send("a", "count")).status).toBe(202);
  await rig.until("a", (it) => it.turns === 3 && it.preview === "prompt 3");
});
