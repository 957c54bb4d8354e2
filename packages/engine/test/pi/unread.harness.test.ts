// What joined a run of pi and was not read by then: it is said again, or its run does not complete.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilAsked, untilShown } from "./rig.ts";

async function rigFor(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  onTestFinished(() => rig.close());
  return rig;
}

function texts(rig: Rig): string[] {
  return rig.provider.requests.at(-1)?.messages.map(({ text }) => text) ?? [];
}

/** Settles when this message stands in the log. */
async function untilJoined(rig: Rig, text: string): Promise<void> {
  await rig.until(
    ({ kind, data }) => kind === "message.user" && JSON.stringify(data).includes(text),
  );
}

/** It dies behind its last word, as soon as something waits for it. */
const dying = `import { existsSync } from "node:fs";
export default (pi) => pi.on("turn_end", async (event, ctx) => {
  if (existsSync("lived") || event.message.stopReason !== "stop") return;
  while (!ctx.hasPendingMessages()) await new Promise((resolve) => setTimeout(resolve, 10));
  process.kill(process.pid, "SIGKILL");
});`;

test("[PI24] a steer that pi's process took down unread is said to the next one, once, in the same run", async () => {
  const rig = await rigFor({
    extension: dying,
    script: [{ parts: [{ text: "first" }, { gate: "go" }] }, "second"],
  });
  const commandId = await rig.send({ type: "prompt", text: "one" });
  await untilShown(rig, ({ text }) => text === "first");
  const steer = await rig.send({ type: "prompt", text: "and two", delivery: "steer" });
  await untilJoined(rig, "and two");
  const died = rig.until(({ kind }) => kind === "harness.stopped");
  rig.provider.open("go");
  await died;
  await writeFile(join(rig.dir, "lived"), "");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "second" });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "second" });
  expect(texts(rig)).toEqual(["one", "first", "and two"]);
  expect(rig.provider.requests).toHaveLength(2);
  expect(await rig.data("message.assistant")).toHaveLength(2);
});

test("[PI24] a command that steered and was handled is not run again by the next process", async () => {
  const rig = await rigFor({
    extension:
      dying
        .replace(
          "=> pi.on",
          `=> {
      pi.registerCommand("once", { handler: async () => appendFileSync("ran", "x") });
      pi.on`,
        )
        .replace("existsSync", "appendFileSync, existsSync") + "}",
    script: [{ parts: [{ text: "first" }, { gate: "go" }] }, "second"],
  });
  const commandId = await rig.send({ type: "prompt", text: "one" });
  await untilShown(rig, ({ text }) => text === "first");
  await rig.send({ type: "prompt", text: "/once", delivery: "steer" });
  await rig.send({ type: "prompt", text: "and two", delivery: "steer" });
  await untilJoined(rig, "and two");
  const died = rig.until(({ kind }) => kind === "harness.stopped");
  rig.provider.open("go");
  await died;
  await writeFile(join(rig.dir, "lived"), "");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "second" });
  expect(await readFile(join(rig.dir, "ran"), "utf8")).toBe("x");
  expect(texts(rig)).toEqual(["one", "first", "and two"]);
});

test("[PI24] a steer that was taken down by a restart is named, and its run does not complete", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => pi.on("turn_end", () => new Promise(() => {}));`,
    script: ["first"],
  });
  const commandId = await rig.send({ type: "prompt", text: "one" });
  await rig.until(({ kind }) => kind === "message.assistant");
  const steer = await rig.send({ type: "prompt", text: "and two", delivery: "steer" });
  await untilJoined(rig, "and two");
  await rig.engine.restart();
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "interrupted",
    diagnostic: expect.stringContaining('pi did not read: "and two"'),
  });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "interrupted" });
});

test("[PI24] a steer that pi refuses fails its run by name", async () => {
  const rig = await rigFor({
    command: [process.execPath, join(import.meta.dirname, "old-pi.ts")],
  });
  const commandId = await rig.send({ type: "prompt", text: "hold" });
  await rig.until(({ data }) => JSON.stringify(data).includes("holding"));
  const steer = await rig.send({ type: "prompt", text: "boom", delivery: "steer" });
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining('pi did not read: "boom"'),
  });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "failed" });
});

test("[PI24] a steer during a compaction waits, and is a prompt of its own", async () => {
  const words = "word ".repeat(2_000);
  const rig = await rigFor({
    script: [
      words,
      words,
      { parts: [{ gate: "go" }, { text: "the summary" }] },
      "its turn",
      "three",
    ],
    settings: { compaction: { keepRecentTokens: 1_000, reserveTokens: 2_000 } },
  });
  for (const text of ["1", "2"]) await rig.prompt(text);
  const commandId = await rig.send({ type: "compact" });
  await rig.provider.request(3);
  const steer = await rig.send({ type: "prompt", text: "3", delivery: "steer" });
  rig.provider.open("go");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed" });
  expect(await rig.data("compaction")).toHaveLength(1);
  const settlement = await rig.settled(steer);
  expect(settlement).toMatchObject({ terminal: "completed" });
  expect(settlement.answer).not.toBe("");
  expect(texts(rig).at(-1)).toBe("3");
});

test("[PI24] a steer that is still being taken in when an extension's question ends is answered in its run", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => {
      let answered;
      const asked = new Promise((resolve) => { answered = resolve; });
      const ask = async (ctx) => {
        await ctx.ui.confirm("Sure?", "");
        setTimeout(answered, 300);
      };
      pi.registerCommand("later", { handler: async (args, ctx) => void setTimeout(() => ask(ctx), 100) });
      pi.on("input", () => asked);
    }`,
    script: ["heard"],
  });
  await rig.prompt("/later");
  const { approvalId } = await untilAsked(rig);
  const steer = await rig.send({ type: "prompt", text: "listen", delivery: "steer" });
  await untilJoined(rig, "listen");
  await rig.send({ type: "answer", approvalId, allow: true });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "heard" });
  expect(await rig.data("command.queued")).toHaveLength(3);
  expect(rig.provider.requests).toHaveLength(1);
});
