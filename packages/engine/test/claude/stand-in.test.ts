import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { messageUuid, uuid5 } from "../../src/claude/host/message-uuid.ts";
import { offered } from "../../src/claude/permission.ts";
import { Clock, until } from "../../../runtime/test/clock.ts";
import { projectFile, Rig, type RigOptions } from "./rig.ts";

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const command = [process.execPath, join(import.meta.dirname, "stand-in.ts")];

async function start(options: RigOptions = {}): Promise<Rig> {
  rig = await Rig.start({ command, ...options });
  return rig;
}

test("[CC30] it is started with the arguments of the document, and its messages are acknowledged", async () => {
  const it = await start();
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
  const [line] = await it.data("harness.line");
  const { args } = (line?.line ?? {}) as { args?: string[] };
  const [{ conversation } = { conversation: "" }] = await it.data("harness.conversation");
  expect(args).toEqual([
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ...["--include-partial-messages", "--permission-prompt-tool", "stdio"],
    ...["--session-id", conversation, "--replay-user-messages"],
  ]);
  expect(conversation).toMatch(/^[0-9a-f-]{36}$/);
});

test("[CC31] a request of a kind that nobody knows is answered with an error", async () => {
  const settled = await (await start()).prompt("unknown");
  expect(settled.answer).toBe("error: Lichen does not know requests of the kind hook_callback.");
});

test("[CC14] a permission that it withdraws is withdrawn in the log, and no answer is written", async () => {
  const it = await start();
  const settled = await it.prompt("withdraw");
  expect(settled).toMatchObject({ terminal: "completed", answer: "nothing was written" });
  expect(await it.data("approval.withdrawn")).toMatchObject([
    { reason: "Claude Code withdrew it" },
  ]);
});

test("[CC31] what it asks while it is greeted is answered: it may wait for that before it begins", async () => {
  const it = await start({ env: { ASKS_FIRST: "1" } });
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
});

test("[CC34] a permission that outlives its turn is asked on, however long a person takes", async () => {
  const clock = new Clock();
  const it = await start({ clock });
  expect(await it.prompt("background")).toMatchObject({ terminal: "completed", answer: "begun" });
  await clock.advance(100);
  const queued = await it.untilEntry(({ data }) => data["type"] === "outside");
  const approval = await it.untilAsked();
  expect(approval.commandId).toBe(queued.commandId);
  for (let minutes = 0; minutes < 40; minutes++) await clock.advance(60_000);
  expect(it.engine.standing().isRunning).toBe(true);
  await it.answer(approval, { allow: true });
  expect(await it.settled(queued.commandId ?? "")).toMatchObject({
    ...{ terminal: "completed", answer: "the background was told allow" },
  });
  expect(it.reported).toEqual([]);
});

test("[CC34] a message that waits comes before it, and takes it over", async () => {
  const it = await start();
  const [first, second] = [
    await it.send({ type: "prompt", text: "background" }),
    await it.send({ type: "prompt", text: "hold" }),
  ];
  await it.settled(first);
  const asked = await it.untilEntry(
    ({ kind, commandId }) => kind === "approval.asked" && commandId === second,
  );
  const approval = await it.untilAsked();
  expect(approval.approvalId).toBe(asked.data["approvalId"]);
  await it.answer(approval, { allow: false });
  expect(await it.settled(second)).toMatchObject({ answer: "the background was told deny" });
});

test("[CC34] what is still waited for when the process ends is withdrawn, and never asked again", async () => {
  const it = await start();
  await it.prompt("background");
  await it.untilAsked();
  await it.engine.restart();
  await it.untilEntry(({ kind }) => kind === "harness.restarted");
  await it.prompt("hello");
  expect((await it.session.read()).approvals).toEqual([]);
});

test("[CC34] a turn ends also where what outlives it cannot be withdrawn just then, and is asked on", async () => {
  const it = await start();
  const writable = it.refuse("approval.withdrawn");
  const command = await it.send({ type: "prompt", text: "background" });
  await until(() => it.reported.length >= 2, "its settlement was refused");
  writable();
  expect(await it.settled(command)).toMatchObject({ terminal: "completed", answer: "begun" });
  await it.untilEntry(({ data }) => data["type"] === "outside");
  const approval = await it.untilAsked();
  expect(approval.commandId).not.toBe(command);
  await it.answer(approval, { allow: true });
  await it.settled(approval.commandId);
});

test("[CC42] a command that waited before it was asked, for a place in the host, comes first 5 s later", async () => {
  const clock = new Clock();
  const it = await start({ clock, capacity: 1 });
  await it.prompt("background");
  const leave = await it.takePlace();
  const command = await it.send({ type: "prompt", text: "hello" });
  await clock.advance(50);
  const queued = await it.untilEntry(({ data }) => data["type"] === "outside");
  const approval = await it.untilAsked();
  expect(approval.commandId).toBe(queued.commandId);
  await leave();
  await clock.advance(4_999);
  expect((await it.session.read()).running?.commandId).toBe(queued.commandId);
  await clock.advance(1);
  expect(await it.settled(command)).toMatchObject({ answer: "you said hello" });
  expect(await it.settled(queued.commandId ?? "")).toMatchObject({ terminal: "completed" });
  await clock.advance(50);
  await it.untilEntry(({ data, seq }) => data["type"] === "outside" && seq > queued.seq);
  const again = await it.untilAsked();
  await it.answer(again, { allow: true });
  expect(await it.settled(again.commandId)).toMatchObject({
    answer: "the background was told allow",
  });
  expect(it.reported).toEqual([]);
});

test("[CC35] what a person decided before auto-approve was switched on is what Claude Code hears", async () => {
  const it = await start();
  const command = await it.send({ type: "prompt", text: "ask" });
  const approval = await it.untilAsked();
  const denied = it.answer(approval, { allow: false });
  it.settings = { ...it.settings, autoApprove: true };
  await Promise.all([denied, it.engine.settingsChanged()]);
  expect(await it.settled(command)).toMatchObject({ answer: "deny {}", toolCalls: 0 });
  expect(await it.data("approval.answered")).toMatchObject([{ allow: false }]);
});

test("[CC36] a turn whose log cannot be written ends with its process", async () => {
  const it = await start();
  const writable = it.refuse("harness.line", "system");
  const settled = await it.prompt("hold");
  expect(settled).toMatchObject({
    ...{ terminal: "failed", diagnostic: expect.stringContaining("the disk is full") },
  });
  expect(it.engine.standing().isRunning).toBe(false);
  writable();
  expect(await it.data("harness.stopped")).toEqual([{ reason: "its log cannot be written" }]);
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
});

test("[CC36] what it begins by itself and nobody can record ends with its process", async () => {
  const it = await start();
  const writable = it.refuse("command.queued", "claude");
  await it.prompt("background");
  await it.untilEntry(({ kind }) => kind === "harness.stopped");
  expect(it.reported.map(String)).toEqual([expect.stringContaining("the disk is full")]);
  writable();
  expect(await it.data("harness.stopped")).toEqual([{ reason: "what it does cannot be recorded" }]);
});

test("[CC37] a denial that stops the turn is told as one, with the person's words, and cancels the run", async () => {
  const it = await start();
  const command = await it.send({ type: "prompt", text: "ask" });
  const approval = await it.untilAsked();
  await it.answer(approval, { allow: false, message: "Not here.", interrupt: true });
  expect(await it.settled(command)).toMatchObject({ terminal: "cancelled" });
  const lines = JSON.stringify(await it.data("harness.line"));
  expect(lines).toContain("stopped: Not here.");
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
  expect((await it.data("harness.process")).length).toBe(1);
});

test("[CC5] a turn that is deaf to its cancellation is killed 8 s later", async () => {
  const clock = new Clock();
  const it = await start({ clock });
  const command = await it.send({ type: "prompt", text: "deaf" });
  await it.untilEntry(({ data }) => JSON.stringify(data).includes("isReplay"));
  await it.send({ type: "cancel", commandId: command });
  await it.untilEntry(({ kind }) => kind === "command.cancelled");
  await clock.advance(7_999);
  expect(it.engine.standing().isRunning).toBe(true);
  await clock.advance(1);
  expect(await it.settled(command)).toMatchObject({ terminal: "cancelled" });
  expect(await it.data("harness.stopped")).toEqual([
    { reason: "its turn did not stop when it was cancelled" },
  ]);
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
});

test("[CC39] a process that cannot give back what it has not read ends with the turn that is cancelled", async () => {
  const it = await start();
  const command = await it.send({ type: "prompt", text: "hold" });
  await it.untilEntry(({ data }) => JSON.stringify(data).includes("isReplay"));
  const steer = await it.send({ type: "prompt", text: "unread", delivery: "steer" });
  await it.untilEntry(({ kind, data }) => kind === "message.user" && "steers" in data);
  await until(() => it.engine.standing().isRunning, "it runs");
  await it.send({ type: "cancel", commandId: command });
  expect(await it.settled(steer)).toMatchObject({ terminal: "cancelled" });
  expect(await it.data("harness.stopped")).toEqual([
    { reason: "what it had not read could not be taken back" },
  ]);
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
});

test("[CC6] a run whose process dies again and again ends, and says by what", async () => {
  const it = await start();
  const settled = await it.prompt("die");
  expect(settled.terminal).toBe("interrupted");
  expect(settled.diagnostic).toContain("ended with code 3: Error: the disk is on fire");
  expect((await it.data("harness.process")).length).toBe(3);
  expect(await it.prompt("hello")).toMatchObject({ answer: "you said hello" });
});

test("[CC1] heartbeats are not kept, and a line of a kind that nobody knows is", async () => {
  const it = await start();
  expect(await it.prompt("noise")).toMatchObject({ answer: "heard" });
  expect(await it.lines()).toEqual(["system/init", "user", "something_new", "result/success"]);
  expect(it.reported.map(String)).toEqual([expect.stringContaining("is not JSON")]);
});

test("[CC1] the cost of a run is what the running total rose by above its highest", async () => {
  const it = await start();
  const costs = [];
  for (const text of ["one", "two", "cheaper", "three"])
    costs.push((await it.prompt(text)).usage.cost);
  expect(costs).toEqual([0.5, 0.5, 0, 0.5]);
});

test("[CC38] a process that resumes says from where it counts: the past is not charged, the present is", async () => {
  for (const [carried, cost] of [
    ["0", 0.5],
    ["1234.5", 0.5],
    [undefined, undefined],
  ] as const) {
    const env = { KEEPS: "1", ...(carried === undefined ? {} : { CARRIED: carried }) };
    const it = await start({ env });
    await it.prompt("one");
    await it.engine.restart();
    expect((await it.prompt("two")).usage.cost, carried).toBe(cost);
    expect((await it.prompt("three")).usage.cost, carried).toBe(0.5);
    await it.close();
    rig = undefined;
  }
});

test("[CC16] heartbeats and reports of limits while it is idle are no work", async () => {
  const it = await start();
  await it.prompt("wake");
  await it.untilEntry(({ data }) => JSON.stringify(data).includes("rate_limit_event"));
  const kinds = (await it.entries()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "run.started").length).toBe(1);
});

test("[CC16] what it writes by itself before its run has begun is shown from its first word on", async () => {
  const it = await start();
  expect(await it.prompt("job")).toMatchObject({ answer: "begun" });
  await projectFile(it, "go", "");
  const outside = await it.untilEntry(({ data }) => data["type"] === "outside");
  await it.untilShown("Looking");
  const { running } = await it.session.read();
  expect(running).toMatchObject({ commandId: outside.commandId, partial: { text: "Looking" } });
});

test("[CC32] what is idle for half an hour ends, and the next message starts it again", async () => {
  const clock = new Clock();
  const it = await start({ clock });
  await it.prompt("hello");
  while (it.engine.standing().isRunning) await clock.advance(15_000);
  await it.untilEntry(({ kind }) => kind === "harness.stopped");
  expect(await it.data("harness.stopped")).toEqual([{ reason: "nothing happened for 30 minutes" }]);
  expect(await it.prompt("again")).toMatchObject({ answer: "you said again" });
  expect((await it.data("harness.process")).length).toBe(2);
});

test("[CC32] a turn that waits for its end is never idle", async () => {
  const clock = new Clock();
  const it = await start({ clock });
  const waiting = await it.send({ type: "prompt", text: "unknown" });
  await it.settled(waiting);
  await clock.advance(20 * 60_000);
  expect(it.engine.standing().isRunning).toBe(true);
});

test("[CC32] one that is kept running starts again after it has ended", async () => {
  const clock = new Clock();
  const it = await start({ clock, settings: { keepRunning: true } });
  await it.prompt("hello");
  process.kill(-(it.engine.standing().pid ?? 0), "SIGKILL");
  await it.untilEntry(({ kind }) => kind === "harness.stopped");
  await until(() => !it.engine.standing().isRunning, "its end");
  await clock.advance(15_000);
  await until(() => it.engine.standing().isRunning, "its start");
  expect(await it.prompt("again")).toMatchObject({ answer: "you said again" });
});

test("[CC24] a call has its intent once it was allowed; a denied one has none", async () => {
  const it = await start();
  const entries = async (text: string, allow: boolean) => {
    const command = await it.send({ type: "prompt", text });
    const approval = await it.untilAsked();
    await it.answer(approval, { allow, ...(allow ? { input: { command: "edited" } } : {}) });
    const settled = await it.settled(command);
    const own = (await it.entries()).filter(({ commandId }) => commandId === command);
    return {
      settled,
      kinds: own.map(({ kind }) => kind).filter((kind) => kind !== "harness.line"),
    };
  };
  const order = ["run.started", "message.user", "message.assistant", "approval.asked"];
  const allowed = await entries("ask", true);
  expect(allowed.settled.answer).toBe('allow {"command":"edited"}');
  expect(allowed.kinds.slice(1)).toEqual([
    ...order,
    ...["approval.answered", "call.started", "message.tool", "run.settled"],
  ]);
  const denied = await entries("ask", false);
  expect(denied.settled).toMatchObject({ answer: "deny {}", toolCalls: 0 });
  expect(denied.kinds.slice(1)).toEqual([
    ...order,
    ...["approval.answered", "message.tool", "run.settled"],
  ]);
});

test("[CC24] a call's outcome stands before what is said after it, however fast the lines come", async () => {
  const it = await start();
  for (let turns = 0; turns < 3; turns++) {
    const command = await it.send({ type: "prompt", text: "call" });
    await it.settled(command);
    const own = (await it.entries()).filter(({ commandId }) => commandId === command);
    const kinds = own.map(({ kind }) => kind).filter((kind) => /^(call|message)\./.test(kind));
    expect(kinds).toEqual([
      ...["message.user", "message.assistant", "call.started", "message.tool"],
      "message.assistant",
    ]);
  }
});

test("[CC33] a program that is missing is named, with what to do", async () => {
  const it = await start({ command: ["/nowhere/claude"] });
  const settled = await it.prompt("hello");
  expect(settled.terminal).toBe("failed");
  expect(settled.diagnostic).toContain("/nowhere/claude is not there: install it");
});

test("[CC20] the uuid of a message is the UUIDv5 of its command, the same for ever", () => {
  const dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  expect(uuid5(dns, "www.example.com")).toBe("2ed6657d-e927-568b-95e1-2665a8aea6a2");
  expect(messageUuid("cmd_x_1")).toBe(messageUuid("cmd_x_1"));
  expect(messageUuid("cmd_x_1")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab]/);
});

test("[CC12] rules of a folder are offered as such only where it is trusted, a mode only where nothing is narrower", () => {
  const rule = {
    type: "addRules",
    rules: [{ toolName: "Bash", ruleContent: "make *" }, { toolName: "Read" }],
    behavior: "allow",
    destination: "localSettings",
  };
  const mode = { type: "setMode", mode: "acceptEdits", destination: "session" };
  const request = { id: "1", tool: "Bash", input: {} };
  const titles = (suggestions: { title?: unknown }[]) => suggestions.map(({ title }) => title);
  expect(titles(offered({ ...request, suggestions: [rule, mode] }, true))).toEqual([
    "Bash(make *), Read, in this folder from now on",
  ]);
  expect(offered({ ...request, suggestions: [rule] }, false)).toEqual([
    { ...rule, destination: "session", title: "Bash(make *), Read, until its process ends" },
  ]);
  expect(titles(offered({ ...request, suggestions: [mode] }, false))).toEqual([
    "mode acceptEdits, until its process ends",
  ]);
});
