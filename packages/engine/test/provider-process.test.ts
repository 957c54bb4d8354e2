// The scripted provider as a real process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "../src/testing/provider-process.ts");

test("[X8] as a process it plays a script from a file, prints where it listens and records what it was asked", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scripted-provider-"));
  const script = join(folder, "script.json");
  const requests = join(folder, "requests.jsonl");
  const steps = [{ parts: [{ text: "one" }, { gate: "half" }, { text: " two" }] }];
  await writeFile(script, JSON.stringify({ steps, then: "more" }));
  const child = spawn(process.execPath, [program, script, "--requests", requests], {
    env: {},
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const { url }: { url: string } = JSON.parse(line);
    const ask = () =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }),
      });
    const first = await ask();
    expect((await fetch(`${url}/gates/half`)).status).toBe(204);
    expect((await fetch(`${url}/gates/half`, { method: "POST" })).status).toBe(204);
    expect(await first.text()).toContain(" two");
    expect(await (await ask()).text()).toContain("more");
    const recorded = (await readFile(requests, "utf8")).trim().split("\n");
    expect(recorded.map((text) => JSON.parse(text))).toMatchObject([
      { number: 1, wire: "completions", body: { model: "m" } },
      { number: 2 },
    ]);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
});
