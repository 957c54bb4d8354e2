// What a session is set to, what it is sent beside text, and what its runs cost.

import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilShown } from "./rig.ts";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function rigFor(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(options);
  onTestFinished(() => rig.close());
  return rig;
}

test("[PI15] a session's model and level are pi's from its next run on", async () => {
  const rig = await rigFor({ script: ["one", "two", "three"] });
  await rig.prompt("1");
  await rig.session.change({ model: "scripted/scripted-2", reasoning: "high" });
  await rig.prompt("2");
  await rig.session.change({ reasoning: "off" });
  await rig.prompt("3");
  const asked = rig.provider.requests.map(({ model, body }) => [model, typeof body["thinking"]]);
  expect(asked.map(([model]) => model)).toEqual(["scripted-1", "scripted-2", "scripted-2"]);
  const messages = (await rig.lines()).flatMap(({ message }) => (message ? [message] : []));
  expect(messages).toMatchObject([
    { model: "scripted-1", thinkingLevel: "medium" },
    { model: "scripted-2", thinkingLevel: "high" },
    { model: "scripted-2", thinkingLevel: "off" },
  ]);
});

test("[PI15] a model that pi does not have fails the run with those it has; once they are known it is refused", async () => {
  const rig = await rigFor({ script: ["fine"] });
  await rig.session.change({ model: "scripted/nobody" });
  expect(await rig.prompt("go")).toMatchObject({
    terminal: "failed",
    diagnostic:
      "pi has no model scripted/nobody; it has scripted/scripted-1, scripted/scripted-2. Choose another for the session, or clear its model",
  });
  expect(rig.provider.requests).toEqual([]);
  await expect(rig.session.change({ model: "scripted/none" })).rejects.toMatchObject({
    code: "invalid",
  });
  expect(await rig.engine.models?.()).toMatchObject({
    default: "scripted/scripted-1",
    models: [
      { model: "scripted/scripted-1", reasoning: ["off", "minimal", "low", "medium", "high"] },
      { model: "scripted/scripted-2", contextWindow: 100_000, isReady: true },
    ],
  });
});

test("[PI28] a session whose model is cleared has pi's own again, also in a later process", async () => {
  const rig = await rigFor({ script: ["one", "two", "three", "four"] });
  await rig.prompt("1");
  await rig.session.change({ model: "scripted/scripted-2" });
  await rig.prompt("2");
  await rig.reopen();
  await rig.session.change({ model: null });
  await rig.prompt("3");
  await rig.prompt("4");
  const asked = rig.provider.requests.map(({ model }) => model);
  expect(asked).toEqual(["scripted-1", "scripted-2", "scripted-1", "scripted-1"]);
});

test("[PI16] images of prompts and steers reach the model", async () => {
  const call = { call: { name: "bash", input: { command: "true" } } };
  const rig = await rigFor({ script: [{ parts: [{ gate: "go" }, call] }, "seen"] });
  const image = { mimeType: "image/png" as const, data: pixel };
  const commandId = await rig.send({ type: "prompt", text: "look", images: [image] });
  await rig.provider.request(1);
  await rig.send({ type: "prompt", text: "and this", images: [image], delivery: "steer" });
  await rig.until(
    ({ kind, data }) => kind === "message.user" && JSON.stringify(data).includes("and this"),
  );
  rig.provider.open("go");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "seen" });
  const [first, second] = rig.provider.requests;
  expect(first?.messages.at(-1)?.images).toHaveLength(1);
  expect(second?.messages.at(-1)?.images).toHaveLength(1);
});

test("[PI17] a compaction is pi's own: its summary is the answer and stands in the log", async () => {
  const words = "word ".repeat(2_000);
  const rig = await rigFor({
    script: [words, words, words, "the summary of it all", "and of its turn"],
    settings: { compaction: { keepRecentTokens: 1_000, reserveTokens: 2_000 } },
  });
  const early = await rig.settled(await rig.send({ type: "compact" }));
  expect(early).toMatchObject({
    terminal: "completed",
    answer: expect.stringContaining("Nothing to compact"),
  });
  for (const text of ["1", "2", "3"]) await rig.prompt(text);
  const commandId = await rig.send({ type: "compact", instructions: "be brief" });
  const settlement = await rig.settled(commandId);
  expect(settlement).toMatchObject({
    terminal: "completed",
    answer: expect.stringContaining("the summary of it all"),
  });
  // Two requests: of the turns before, and of the one that is cut.
  expect(settlement.usage).toMatchObject({ input: 20, output: 10 });
  expect(settlement.usage.cost).toBeCloseTo(0.00004, 8);
  const [compaction] = await rig.data("compaction");
  expect(compaction).toMatchObject({
    automatic: false,
    summary: expect.stringContaining("the summary"),
  });
  expect(JSON.stringify(rig.provider.requests[3]?.body)).toContain("be brief");
});

test("[PI17] a compaction that pi begins by itself is part of its run", async () => {
  const words = "word ".repeat(2_000);
  const rig = await rigFor({
    script: [
      words,
      { parts: [{ text: words }], usage: { input: 99_500 } },
      "the summary of it all",
      "and of its turn",
      "three",
    ],
    settings: { compaction: { keepRecentTokens: 1_000, reserveTokens: 2_000 } },
  });
  await rig.prompt("1");
  const settlement = await rig.prompt("2");
  expect(settlement).toMatchObject({ terminal: "completed", answer: words });
  expect(settlement.usage).toMatchObject({ input: 99_520, output: 15 });
  expect(await rig.data("compaction")).toMatchObject([
    { automatic: true, summary: expect.stringContaining("the summary") },
  ]);
  expect(await rig.prompt("3")).toMatchObject({ terminal: "completed", answer: "three" });
});

test("[PI12] runs cost what they used, also after pi began anew on a conversation that had cost something", async () => {
  const usage = { input: 100, output: 50 };
  const answer = (text: string) => ({ parts: [{ text }], usage });
  const rig = await rigFor({ script: [answer("a"), answer("b"), answer("c")] });
  const first = await rig.prompt("1");
  const second = await rig.prompt("2");
  await rig.reopen();
  const third = await rig.prompt("3");
  for (const { usage: used } of [first, second, third]) {
    expect(used).toMatchObject({ input: 100, output: 50 });
    expect(used.cost).toBeCloseTo(0.0002, 8);
  }
});

test("[PI12] a run that was stopped, or lost its process, costs what it used, and the next one nothing of that", async () => {
  const half = { parts: [{ text: "half" }, { hang: true as const }] };
  const broken = { parts: [{ thinking: "hm" }, { breaks: "overloaded" as const }] };
  const rig = await rigFor({ script: [broken, half, "one", broken, half, "two"] });
  const begun = async (text: string): Promise<string> => {
    const commandId = await rig.send({ type: "prompt", text });
    await untilShown(rig, (partial) => partial.text === "half");
    return commandId;
  };
  const first = await begun("1");
  await rig.send({ type: "cancel", commandId: first });
  expect((await rig.settled(first)).usage).toMatchObject({ input: 20 });
  expect((await rig.prompt("2")).usage).toMatchObject({ input: 10 });
  const third = await begun("3");
  process.kill(rig.engine.standing().pid ?? 0, "SIGKILL");
  // What the message that was being written cost is known to nobody.
  expect(await rig.settled(third)).toMatchObject({ terminal: "interrupted", usage: { input: 10 } });
  expect((await rig.prompt("4")).usage).toMatchObject({ input: 10 });
});

test("[PI17] a compaction that is cancelled leaves the conversation as it was", async () => {
  const words = "word ".repeat(2_000);
  const rig = await rigFor({
    script: [words, words, { parts: [{ hang: true }] }, "three"],
    settings: { compaction: { keepRecentTokens: 1_000, reserveTokens: 2_000 } },
  });
  for (const text of ["1", "2"]) await rig.prompt(text);
  const commandId = await rig.send({ type: "compact" });
  await rig.provider.request(3);
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.data("compaction")).toEqual([]);
  expect(await rig.prompt("3")).toMatchObject({ terminal: "completed", answer: "three" });
});
