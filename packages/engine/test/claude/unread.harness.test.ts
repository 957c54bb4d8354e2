// Messages that Claude Code has not read when its turn is stopped, or its process.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ReceivedRequest } from "../../src/testing/index.ts";
import { bash, projectFile, Rig } from "./rig.ts";

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const has = (name: string) => existsSync(join(rig?.dir ?? "", name));
const textOf = ({ messages }: ReceivedRequest) => messages.map(({ text }) => text).join("\n");
const given = () => (rig?.provider.requests ?? []).map(textOf);

/** Streams and waits, and makes a file where it is told so. */
const streams = (request: ReceivedRequest) => {
  const last = request.messages.findLast(({ role }) => role === "user");
  if (last?.text.includes("go on")) return "Gone on.";
  if (last?.text.includes("make the file")) return { parts: [bash("touch made.txt")] };
  if (last?.results.length) return "Made.";
  return { parts: [{ text: "Begun" }, { gate: "never" }] };
};

/** Waits for a person's permission. */
const asks = (request: ReceivedRequest) => {
  const last = request.messages.findLast(({ role }) => role === "user");
  if (last?.text.includes("make the file")) return { parts: [bash("touch made.txt")] };
  if (last?.text.includes("go on")) return "Gone on.";
  return { parts: [bash("touch asked.txt")] };
};

async function steered(to: Rig, text: string): Promise<string> {
  const steer = await to.send({ type: "prompt", text, delivery: "steer" });
  await to.untilEntry(({ kind, data }) => kind === "message.user" && data["text"] === text);
  return steer;
}

test("[CC39] a cancelled run takes back what Claude Code has not read, and nothing of it is done", async () => {
  for (const autoApprove of [true, false]) {
    rig = await Rig.start({ settings: { autoApprove }, script: streams });
    const command = await rig.send({ type: "prompt", text: "begin" });
    await rig.untilShown("Begun");
    const steer = await steered(rig, "make the file");
    await rig.send({ type: "cancel", commandId: command });
    expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
    expect(await rig.settled(steer)).toMatchObject({ terminal: "cancelled" });
    expect(await rig.prompt("go on")).toMatchObject({ terminal: "completed", answer: "Gone on." });
    expect(given().filter((text) => text.includes("make the file"))).toEqual([]);
    expect(has("made.txt")).toBe(false);
    expect((await rig.data("harness.process")).length).toBe(1);
    expect(rig.reported).toEqual([]);
    await rig.close();
    rig = undefined;
  }
});

test("[CC39] a turn that is stopped while a person is asked takes back what waits behind it", async () => {
  for (const stop of ["cancel", "deny"]) {
    rig = await Rig.start({ script: asks });
    const command = await rig.send({ type: "prompt", text: "begin" });
    const approval = await rig.untilAsked();
    await steered(rig, "make the file");
    if (stop === "cancel") await rig.send({ type: "cancel", commandId: command });
    else await rig.answer(approval, { allow: false, interrupt: true });
    expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
    expect(await rig.prompt("go on")).toMatchObject({ terminal: "completed", answer: "Gone on." });
    expect(given().filter((text) => text.includes("make the file"))).toEqual([]);
    expect([has("asked.txt"), has("made.txt")]).toEqual([false, false]);
    expect((await rig.data("harness.process")).length).toBe(1);
    await rig.close();
    rig = undefined;
  }
});

test("[CC39] a run that is cancelled before Claude Code has read its message does nothing", async () => {
  const script = (request: ReceivedRequest) => {
    const last = request.messages.findLast(({ role }) => role === "user");
    if (last?.text.includes("go on")) return "Gone on.";
    return { parts: [{ gate: "never" }, bash("touch made.txt")] };
  };
  rig = await Rig.start({ settings: { autoApprove: true }, script });
  expect(await rig.prompt("go on")).toMatchObject({ answer: "Gone on." });
  for (let times = 0; times < 5; times++) {
    const command = await rig.send({ type: "prompt", text: "make the file" });
    await rig.send({ type: "cancel", commandId: command });
    expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
  }
  expect(await rig.prompt("go on")).toMatchObject({ terminal: "completed", answer: "Gone on." });
  expect(has("made.txt")).toBe(false);
  expect((await rig.data("harness.process")).length).toBe(1);
});

test("[CC40] a message that Claude Code had not read goes on after a restart, once", async () => {
  rig = await Rig.start({ settings: { autoApprove: true }, script: streams });
  const command = await rig.send({ type: "prompt", text: "begin" });
  await rig.untilShown("Begun");
  const steer = await steered(rig, "make the file");
  await rig.engine.restart();
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "Made." });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "Made." });
  expect(given().at(-1)?.split("make the file").length).toBe(2);
  expect(has("made.txt")).toBe(true);
  expect(await rig.data("harness.stopped")).toEqual([{ reason: "it was restarted" }]);
  expect(rig.reported).toEqual([]);
});

test("[CC40] a message that waited behind a permission goes on after a restart; what was asked was never made", async () => {
  rig = await Rig.start({ script: asks });
  await rig.send({ type: "prompt", text: "begin" });
  await rig.untilAsked();
  const steer = await steered(rig, "go on");
  await rig.engine.restart();
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "Gone on." });
  expect(await rig.data("approval.withdrawn")).toMatchObject([
    { reason: "the process that asked has ended" },
  ]);
  expect(JSON.stringify(await rig.data("message.tool"))).toContain("This call did not run");
  expect(await rig.data("call.started")).toEqual([]);
  expect(has("asked.txt")).toBe(false);
});

test("[CC40] a prompt whose process is restarted while it begins is said to the next one", async () => {
  rig = await Rig.start({ script: streams });
  const command = await rig.send({ type: "prompt", text: "go on" });
  await rig.untilEntry(({ kind }) => kind === "harness.process");
  await rig.engine.restart();
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "Gone on." });
  expect(given().length).toBe(1);
});

test("[CC40] a message that came while Claude Code did something by itself goes on after a restart", async () => {
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: (request) => {
      const last = request.messages.findLast(({ role }) => role === "user");
      if (last?.text.includes("go on")) return "Gone on.";
      if (last?.text.includes("task-notification"))
        return { parts: [{ text: "Looking" }, { gate: "never" }] };
      if (last?.results.length) return "Started.";
      return { parts: [bash("until [ -e go ]; do sleep 0.05; done", { run_in_background: true })] };
    },
  });
  expect(await rig.prompt("begin")).toMatchObject({ answer: "Started." });
  await projectFile(rig, "go", "");
  const outside = await rig.untilEntry(({ data }) => data["type"] === "outside");
  await rig.untilShown("Looking");
  const steer = await steered(rig, "go on");
  await rig.engine.restart();
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "Gone on." });
  expect(await rig.settled(outside.commandId ?? "")).toMatchObject({ terminal: "completed" });
  expect(given().at(-1)?.split("go on").length).toBe(2);
});
