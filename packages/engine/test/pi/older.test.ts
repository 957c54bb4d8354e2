// Older versions of pi, played by a small program.

import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Rig, startRig } from "./rig.ts";

async function oldRig(): Promise<Rig> {
  const rig = await startRig({
    command: [process.execPath, join(import.meta.dirname, "old-pi.ts")],
  });
  onTestFinished(() => rig.close());
  return rig;
}

test("[PI22] a turn ends with its run, a retry's end is none, and a command of an extension ends at once", async () => {
  const rig = await oldRig();
  expect(await rig.prompt("hello")).toMatchObject({ terminal: "completed", answer: "heard hello" });
  expect(await rig.prompt("retry")).toMatchObject({ terminal: "completed", answer: "after all" });
  expect(await rig.prompt("/old")).toMatchObject({ terminal: "completed", answer: "" });
  expect(await rig.prompt("boom")).toMatchObject({ terminal: "failed", diagnostic: "no boom" });
  expect(await rig.prompt("again")).toMatchObject({ terminal: "completed", answer: "heard again" });
  expect(await rig.data("run.settled")).toHaveLength(5);
  expect(rig.reported).toEqual([]);
});

test("[PI12] what a message that broke off cost is counted with its run", async () => {
  const rig = await oldRig();
  expect((await rig.prompt("hello")).usage.cost).toBeCloseTo(0.5);
  expect((await rig.prompt("retry")).usage.cost).toBeCloseTo(1);
});

test("[PI4] tools that read are told from those that may change something", async () => {
  const rig = await oldRig();
  expect(await rig.prompt("tool")).toMatchObject({ answer: "used", toolCalls: 2 });
  expect(await rig.data("call.started")).toMatchObject([
    { name: "grep", label: "read", replaySafe: true },
    { name: "edit", label: "write", replaySafe: false },
  ]);
});
