import { afterEach, expect, test } from "vitest";
import { processInfo } from "../../src/harness/host/processes.ts";
import { Clock, until } from "../../../runtime/test/clock.ts";
import { Rig, type RigOptions } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions = {}): Promise<Rig> {
  const rig = await Rig.start(options);
  open.push(rig);
  return rig;
}

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const images = [{ mimeType: "image/png" as const, data: png }];

test.each([
  ["end_turn", "completed", undefined],
  ["max_tokens", "failed", "limit of tokens"],
  ["max_turn_requests", "failed", "limit of requests"],
  ["refusal", "failed", "refused to go on"],
  ["cancelled", "interrupted", "cancelled by the agent"],
  ["bored", "failed", "not known here: bored"],
])("[AC12] the reason %s settles a run as %s", async (reason, terminal, words) => {
  const rig = await start();
  const settlement = await rig.prompt("say so far", `stop ${reason}`);
  expect(settlement.terminal).toBe(terminal);
  if (words) expect(settlement.diagnostic).toContain(words);
  expect(await rig.data("message.assistant")).toMatchObject([{ content: [{ text: "so far" }] }]);
});

test("[AC12] an error in place of an end fails the run with the agent's words, and the next one runs", async () => {
  const rig = await start({ env: { SOME_BASE_URL: "https://me:made-up-and-long@models.example" } });
  const settlement = await rig.prompt("throw the model is away for made-up-and-long");
  expect(settlement).toMatchObject({ terminal: "failed" });
  expect(settlement.diagnostic).toContain("the model is away for [redacted]");
  expect(await rig.prompt("back")).toMatchObject({ answer: "back" });
});

test("[AC13] the model of the session is set before its next prompt", async () => {
  const rig = await start({ flags: ["--load", "--models"] });
  expect(await rig.engine.models?.()).toEqual({ models: [] });
  expect(await rig.prompt("model")).toMatchObject({ answer: "small/one" });
  expect(await rig.engine.models?.()).toMatchObject({
    models: [{ model: "small/one", isReady: true }, { model: "large/two" }],
    default: "small/one",
  });
  await rig.session.change({ model: "large/two" });
  expect(await rig.prompt("model")).toMatchObject({ answer: "large/two" });
  const unknown = rig.session.change({ model: "huge/three" });
  await expect(unknown).rejects.toThrow(/offers no huge\/three.*small\/one, large\/two/);
  expect(rig.journal().filter((fact) => "model" in fact)).toEqual([{ model: "large/two" }]);
});

test("[AC31] a model is refused where the agent has no choice of models, and nothing is changed", async () => {
  const rig = await start();
  await rig.prompt("hello");
  const refused = rig.session.change({ model: "large/two" });
  await expect(refused).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("offers no choice of models"),
  });
  expect((await rig.session.info()).model).toBeUndefined();
  expect(await rig.prompt("still here")).toMatchObject({ answer: "still here" });
});

test("[AC31] an agent that has not begun yet is begun to tell whether it offers a model", async () => {
  const rig = await start({ flags: ["--load", "--models"] });
  await rig.prompt("hello");
  await rig.reopen();
  await rig.session.connect();
  await expect(rig.session.change({ model: "huge/three" })).rejects.toThrow(/offers no huge/);
  await rig.session.change({ model: "large/two" });
  expect(await rig.prompt("model")).toMatchObject({ answer: "large/two" });
});

test("[AC31] a session whose model is cleared has the agent's own again, also after its process", async () => {
  const rig = await start({ flags: ["--load", "--models"] });
  await rig.prompt("hello");
  await rig.session.change({ model: "large/two" });
  expect(await rig.prompt("model")).toMatchObject({ answer: "large/two" });
  await rig.reopen();
  expect(await rig.prompt("model")).toMatchObject({ answer: "large/two" });
  await rig.session.change({ model: null });
  expect((await rig.session.info()).model).toBeUndefined();
  await rig.reopen();
  expect(await rig.prompt("model")).toMatchObject({ answer: "small/one" });
  expect(await rig.prompt("model")).toMatchObject({ answer: "small/one" });
  expect(rig.journal().flatMap((fact) => fact["model"] ?? [])).toEqual(["large/two", "small/one"]);
});

test.each([[["--load", "--models=small/one,new/four"]], [["--load"]]])(
  "[AC31] a model that the agent offers no more fails the run with how to go on: %s",
  async (flags) => {
    const rig = await start({ flags: ["--load", "--models"] });
    await rig.prompt("hello");
    await rig.session.change({ model: "large/two" });
    await rig.prompt("hello");
    rig.flags = flags;
    await rig.reopen();
    const failed = await rig.prompt("never sent");
    expect(failed).toMatchObject({ terminal: "failed" });
    expect(failed.diagnostic).toMatch(/large\/two.* clear |clear .*large\/two/);
    await rig.session.change({ model: null });
    expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 3" });
  },
);

test("[AC13] a mode is set when it is asked for, and known when the agent changes it", async () => {
  const rig = await start({ flags: ["--load", "--modes"] });
  await rig.prompt("mode code");
  expect(rig.engine.modes()).toEqual({
    current: "code",
    available: [
      { id: "ask", name: "ask" },
      { id: "code", name: "code" },
    ],
  });
  await rig.engine.setMode("ask");
  expect(rig.engine.modes()?.current).toBe("ask");
  expect(await rig.noted("mode")).toEqual({ mode: "ask" });
  await expect(rig.engine.setMode("yolo")).rejects.toThrow(/no mode yolo. It has: ask, code/);
});

test("[AC14] images are sent to an agent that takes them, and refused in words for another", async () => {
  const able = await start({ flags: ["--load", "--images"] });
  const seen = await able.send({ type: "prompt", text: "images", images });
  expect(await able.settled(seen)).toMatchObject({ answer: "1 images" });
  const unable = await start();
  const refused = await unable.send({ type: "prompt", text: "images", images });
  expect(await unable.settled(refused)).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("takes no images"),
  });
  expect(unable.journal().filter((fact) => "prompt" in fact)).toEqual([]);
});

test("[AC15] steers are the next prompt of the same run, each sent once", async () => {
  const rig = await start();
  const commandId = await rig.begin("say first", "wait go");
  await rig.noted("waits");
  const steer = await rig.send({ type: "prompt", text: "second", delivery: "steer" });
  const another = await rig.send({ type: "prompt", text: "third", delivery: "steer" });
  rig.release("go");
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "completed",
    answer: "secondthird",
  });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "secondthird" });
  expect(await rig.settled(another)).toMatchObject({ terminal: "completed" });
  expect(rig.journal().flatMap((fact) => fact["prompt"] ?? [])).toEqual([
    "say first\nwait go",
    "second\n\nthird",
  ]);
  const said = (await rig.data("message.assistant")).map((it) => it.content);
  expect(said).toMatchObject([[{ text: "first" }], [{ text: "secondthird" }]]);
});

test("[AC15] lines of the operator go with the next prompt, once", async () => {
  const rig = await start();
  await rig.prompt("one");
  await rig.send({ type: "line", text: "mind the gap" });
  await rig.prompt("two");
  await rig.prompt("three");
  expect(rig.journal().flatMap((fact) => fact["prompt"] ?? [])).toEqual([
    "one",
    "mind the gap\n\ntwo",
    "three",
  ]);
});

test("[AC22] a compaction is refused in words where the agent has no command for it", async () => {
  const rig = await start({ flags: ["--load"] });
  await rig.prompt("one");
  const compact = await rig.send({ type: "compact", instructions: "keep names" });
  expect(await rig.settled(compact)).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("no command to compact"),
  });
});

test("[AC22] a compaction is the agent's own command with the instructions", async () => {
  const rig = await start({ flags: ["--load"] });
  await rig.prompt("commands compact");
  const compact = await rig.send({ type: "compact", instructions: "keep names" });
  expect(await rig.settled(compact)).toMatchObject({ answer: "/compact keep names" });
});

test("[AC23] a turn costs what the agent's total grew by; a conversation that goes on starts from its first", async () => {
  const rig = await start();
  expect(await rig.prompt("cost 0.25", "say one")).toMatchObject({ usage: { cost: 0.25 } });
  expect(await rig.prompt("cost 0.75", "cost 0.5", "say two")).toMatchObject({
    usage: { cost: 0.5 },
  });
  await rig.engine.restart();
  expect((await rig.prompt("cost 0.6", "say three")).usage.cost ?? 0).toBe(0);
  expect(await rig.prompt("cost 0.85", "say four")).toMatchObject({ usage: { cost: 0.25 } });
});

test("[AC33] what comes under the name of another session is left out and reported, once", async () => {
  const rig = await start({ flags: ["--load", "--models"] });
  const settlement = await rig.prompt("stranger I am you", "say mine", "stranger trust me");
  expect(settlement).toMatchObject({ terminal: "completed", answer: "mine" });
  expect(settlement.usage.cost).toBeUndefined();
  expect(JSON.stringify(await rig.entries())).not.toContain('"sessionId":"elsewhere"');
  expect((await rig.engine.models?.())?.models).toHaveLength(2);
  expect(rig.reported.map(String)).toEqual([
    expect.stringContaining("an update of session elsewhere, which is not the one in hand"),
  ]);
});

test("[AC27] an agent that does not answer when its model is set is ended after a minute, and the run fails in words", async () => {
  const clock = new Clock();
  const rig = await start({ flags: ["--load", "--models", "--deaf"], clock });
  await rig.prompt("hello");
  await rig.session.change({ model: "large/two" });
  const commandId = await rig.begin("hello");
  await rig.noted("deaf");
  const { pid } = rig.engine.standing();
  await clock.advance(59_000);
  expect((await rig.session.read()).running?.commandId).toBe(commandId);
  await clock.advance(1_000);
  const settlement = await rig.settled(commandId);
  expect(settlement).toMatchObject({ terminal: "failed" });
  expect(settlement.diagnostic).toContain("did not answer in a minute when it was asked for the");
  await until(async () => (await processInfo(pid!))?.isDead ?? true, "its end");
  await rig.session.change({ model: "small/one" });
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
});

test("[AC27] a run that is cancelled while its model is set ends at once, and nothing was sent", async () => {
  const rig = await start({ flags: ["--load", "--models", "--deaf"] });
  await rig.prompt("hello");
  await rig.session.change({ model: "large/two" });
  const commandId = await rig.begin("never sent");
  await rig.noted("deaf");
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(rig.journal().flatMap((fact) => fact["prompt"] ?? [])).toEqual(["hello"]);
});

test("[AC27] a mode that the agent does not answer to is refused after a minute", async () => {
  const clock = new Clock();
  const rig = await start({ flags: ["--load", "--modes", "--deaf"], clock });
  await rig.prompt("hello");
  const set = rig.engine.setMode("code");
  const refused = expect(set).rejects.toMatchObject({ code: "unavailable" });
  await rig.noted("deaf");
  await clock.advance(60_000);
  await refused;
});
