// pi's process: kept between runs, ended and begun again on the same conversation.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilAsked, untilShown } from "./rig.ts";

async function rigFor(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(options);
  onTestFinished(() => rig.close());
  return rig;
}

const pidOf = (rig: Rig): number => {
  const { pid } = rig.engine.standing();
  if (pid === undefined) throw new Error("pi does not run.");
  return pid;
};

test("[PI2] the next host goes on in the same conversation, by its file", async () => {
  const rig = await rigFor({ script: ["one", "two"] });
  await rig.prompt("1");
  await rig.reopen();
  expect(rig.engine.standing().isRunning).toBe(false);
  expect(await rig.prompt("2")).toMatchObject({ terminal: "completed", answer: "two" });
  expect(rig.provider.requests[1]?.messages.map(({ text }) => text)).toEqual(["1", "one", "2"]);
  expect(await rig.data("harness.conversation")).toHaveLength(1);
  expect(await rig.data("harness.process")).toHaveLength(2);
});

test("[PI2] a conversation that was begun and never written is begun again under its file", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => pi.registerCommand("quiet", { handler: async () => {} });`,
    script: ["one"],
  });
  await rig.prompt("/quiet");
  await rig.reopen();
  expect(await rig.prompt("1")).toMatchObject({ answer: "one" });
  const files = (await rig.data("harness.conversation")).map(({ file }) => file);
  expect(new Set(files).size).toBe(1);
});

test("[PI19] a process that dies in mid-turn ends the run, says so, and the next one goes on in the conversation", async () => {
  const rig = await rigFor({ script: [{ parts: [{ text: "half" }, { hang: true }] }, "again"] });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ text }) => text === "half");
  process.kill(pidOf(rig), "SIGKILL");
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "interrupted",
    diagnostic: "pi's process ended in the middle of the turn: killed by SIGKILL",
  });
  expect(await rig.prompt("on")).toMatchObject({ terminal: "completed", answer: "again" });
  expect(rig.provider.requests[1]?.messages.map(({ text }) => text)).toEqual(["go", "on"]);
});

test("[PI19] a process that dies in a call that may have changed something leaves an unknown outcome and no child", async () => {
  const rig = await rigFor({
    script: [{ parts: [{ call: { name: "bash", input: { command: "echo on; sleep 300" } } }] }],
  });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ tool }) => tool?.output?.includes("on") === true);
  process.kill(pidOf(rig), "SIGKILL");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "outcome_unknown" });
  expect(await rig.data("message.tool")).toMatchObject([{ interrupted: true }]);
  const { execFileSync } = await import("node:child_process");
  const left = execFileSync("ps", ["-eo", "args"]).toString().split("\n");
  expect(left.filter((args) => args.includes("echo on; sleep 300"))).toEqual([]);
});

test("[PI19] a question of a process that died is withdrawn", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => pi.registerCommand("ask", { handler: (args, ctx) => ctx.ui.confirm("Sure?", "") });`,
  });
  const commandId = await rig.send({ type: "prompt", text: "/ask" });
  const { approvalId, prompt } = await untilAsked(rig);
  process.kill(pidOf(rig), "SIGKILL");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "interrupted" });
  expect(await rig.data("approval.withdrawn")).toEqual([
    { approvalId, prompt, reason: "pi's process is gone" },
  ]);
});

test("[PI20] a restart ends the turn in hand and begins on the same conversation", async () => {
  const rig = await rigFor({
    script: ["one", { parts: [{ text: "half" }, { hang: true }] }, "three"],
  });
  await rig.prompt("1");
  const commandId = await rig.send({ type: "prompt", text: "2" });
  await untilShown(rig, ({ text }) => text === "half");
  const before = pidOf(rig);
  await rig.engine.restart();
  expect(pidOf(rig)).not.toBe(before);
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "interrupted",
    diagnostic: expect.stringContaining("restarted"),
  });
  expect(await rig.prompt("3")).toMatchObject({ answer: "three" });
  expect(rig.provider.requests[2]?.messages.map(({ text }) => text)).toEqual([
    "1",
    "one",
    "2",
    "3",
  ]);
});

test("[PI11] a conversation of another folder is refused before it goes on, and stays as it is", async () => {
  const rig = await rigFor({ script: ["one"] });
  await rig.prompt("1");
  const [{ file = "" } = {}] = await rig.data("harness.conversation");
  const elsewhere = join(rig.folder, "elsewhere");
  await mkdir(elsewhere);
  await rig.reopen(async () => {
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replaceAll(rig.dir, elsewhere));
  });
  const settlement = await rig.prompt("2");
  expect(settlement).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("belongs to another folder"),
  });
  expect(settlement.diagnostic).not.toContain(elsewhere);
});

test("[PI21] a prompt that pi refuses fails with pi's words; a program that is not there says so", async () => {
  const rig = await rigFor({
    files: { "models.json": "{}" },
    settings: { defaultProvider: "none" },
  });
  const settlement = await rig.prompt("go");
  expect(settlement.terminal).toBe("failed");
  expect(settlement.diagnostic).toMatch(/model|API key/i);
  expect(rig.engine.standing().isRunning).toBe(true);
  const without = await rigFor({ command: ["/nowhere/pi"] });
  expect(await without.prompt("go")).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("/nowhere/pi is not there"),
    retryable: true,
  });
});

test("[PI20] a new conversation has nothing of the one before", async () => {
  const rig = await rigFor({ script: ["one", "two"] });
  await rig.prompt("1");
  await rig.session.restart();
  await rig.engine.newConversation();
  expect(await rig.prompt("2")).toMatchObject({ answer: "two" });
  expect(rig.provider.requests[1]?.messages.map(({ text }) => text)).toEqual(["2"]);
  const conversations = await rig.data("harness.conversation");
  expect(new Set(conversations.map(({ conversation }) => conversation)).size).toBe(2);
});

test("[PI20] one that is kept running is started without a message, and what it does by itself is recorded", async () => {
  const rig = await rigFor({
    harness: () => ({ autoApprove: false, keepRunning: true }),
    extension: `export default (pi) => pi.on("session_start", () => {
      setTimeout(() => pi.sendUserMessage("wake up"), 100);
    });`,
    script: ["awake"],
  });
  await rig.session.connect();
  const queued = await rig.until(({ kind }) => kind === "command.queued");
  expect(queued.data).toMatchObject({ type: "outside", source: "pi", text: "wake up" });
  expect(await rig.settled(queued.commandId ?? "")).toMatchObject({ answer: "awake" });
});
