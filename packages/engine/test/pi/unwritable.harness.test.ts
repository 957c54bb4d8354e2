// A pi that goes on by itself where nobody can record it, or hear it: it is ended.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilShown } from "./rig.ts";

async function rigFor(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  onTestFinished(() => rig.close());
  return rig;
}

const bash = (command: string) => ({ call: { name: "bash", input: { command } } });

test("[PI25] a turn whose log cannot be written is ended with its process, as unknown and not as cancelled", async () => {
  const rig = await rigFor({
    script: ({ messages }) => {
      if (messages.at(-1)?.text === "on") return "after";
      const hasResult = messages.some(({ results }) => results.length > 0);
      return { parts: hasResult ? [{ gate: "go" }, bash("touch two")] : [bash("echo one")] };
    },
  });
  const writable = rig.refuse("harness.line", "toolResult");
  const commandId = await rig.send({ type: "prompt", text: "go" });
  const settlement = await rig.settled(commandId);
  expect(settlement).toMatchObject({
    terminal: "outcome_unknown",
    diagnostic: expect.stringContaining("the log could not be written"),
  });
  expect((await rig.data("harness.stopped")).map(({ reason }) => reason)).toEqual([
    "its log cannot be written",
  ]);
  rig.provider.open("go");
  writable();
  expect(await rig.prompt("on")).toMatchObject({ terminal: "completed", answer: "after" });
  expect(existsSync(join(rig.dir, "two"))).toBe(false);
});

test("[PI25] a prompt that was not sent because the log could not be written fails with the reason", async () => {
  const rig = await rigFor({ script: ["one"] });
  const writable = rig.refuse("harness.line", "get_entries");
  expect(await rig.prompt("go")).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("the disk is full"),
  });
  writable();
  expect(rig.provider.requests).toEqual([]);
  expect(await rig.prompt("again")).toMatchObject({ terminal: "completed", answer: "one" });
});

const asking = `import { writeFileSync } from "node:fs";
export default (pi) => {
  const command = (name, handler) => pi.registerCommand(name, { handler });
  command("ask", async (args, ctx) => {
    const sure = await ctx.ui.confirm("Sure?", "");
    writeFileSync("went-on", String(sure));
  });
  command("later", async (args, ctx) => {
    setTimeout(() => ctx.ui.confirm("Sure?", "").then((sure) => writeFileSync("went-on", String(sure))), 200);
  });
  command("beat", async () => {
    setTimeout(() => pi.sendUserMessage("beat"), 200);
  });
};`;

test("[PI25] a dialog that cannot be asked is not answered: pi does not go on behind it", async () => {
  const rig = await rigFor({ extension: asking });
  const writable = rig.refuse("approval.asked");
  expect(await rig.prompt("/ask")).toMatchObject({ terminal: "outcome_unknown" });
  writable();
  expect(existsSync(join(rig.dir, "went-on"))).toBe(false);
  const [stopped] = await rig.data("harness.stopped");
  expect(stopped?.reason).toBe("its log cannot be written");
});

test("[PI25] what pi begins by itself and nobody can record is ended, and told", async () => {
  const rig = await rigFor({
    extension: asking,
    script: ({ messages }) =>
      messages.at(-1)?.text === "on" ? "after" : { parts: [{ gate: "go" }, bash("touch unseen")] },
  });
  await rig.prompt("/beat");
  const writable = rig.refuse("command.queued", "beat");
  const stopped = await rig.until(({ kind }) => kind === "harness.stopped");
  expect(stopped.data).toMatchObject({ reason: "what it does by itself cannot be recorded" });
  expect(String(rig.reported[0])).toContain("the disk is full");
  rig.provider.open("go");
  writable();
  expect(await rig.prompt("on")).toMatchObject({ terminal: "completed", answer: "after" });
  expect(existsSync(join(rig.dir, "unseen"))).toBe(false);
});

test("[PI25] what an extension asks by itself and nobody can be shown does not wait for ever: its process is ended", async () => {
  const rig = await rigFor({ extension: asking, script: ["after"] });
  await rig.prompt("/later");
  const writable = rig.refuse("command.queued", "outside");
  const stopped = await rig.until(({ kind }) => kind === "harness.stopped");
  expect(stopped.data).toMatchObject({ reason: "what it does by itself cannot be recorded" });
  writable();
  expect(await rig.prompt("on")).toMatchObject({ terminal: "completed", answer: "after" });
  expect(existsSync(join(rig.dir, "went-on"))).toBe(false);
});

test("[PI26] a pi that takes no more messages is ended in mid-turn, and what it may have done is unknown", async () => {
  const rig = await rigFor({
    extension: `import { closeSync } from "node:fs";
      export default (pi) => pi.on("tool_call", () => {
        process.stdin.destroy();
        closeSync(0);
      });`,
    script: [{ parts: [bash("echo on; until [ -e never ]; do sleep 0.1; done; touch late")] }],
  });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ tool }) => tool?.output?.includes("on") === true);
  const steer = await rig.send({ type: "prompt", text: "and two", delivery: "steer" });
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "outcome_unknown",
    diagnostic: expect.stringContaining("it answered no more"),
  });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "outcome_unknown" });
  expect(rig.engine.standing().isRunning).toBe(false);
});

test("[PI26] a run that goes on after its host's death and finds no pi is unknown, and not merely failed", async () => {
  const rig = await rigFor({ script: [{ parts: [{ text: "half" }, { hang: true }] }] });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ text }) => text === "half");
  await rig.reopen(undefined, { command: ["/nowhere/pi"] });
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "outcome_unknown",
    diagnostic: expect.stringContaining("/nowhere/pi is not there"),
  });
});
