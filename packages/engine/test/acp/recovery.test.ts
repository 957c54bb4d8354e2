import { afterEach, expect, test } from "vitest";
import { processInfo } from "../../src/harness/host/processes.ts";
import { Clock, until } from "../../../runtime/test/clock.ts";
import { killInMidRun } from "./kill.ts";
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

const prompts = (rig: Rig) => rig.journal().flatMap((fact) => fact["prompt"] ?? []);

test("[AC8] an agent that is deaf to a cancellation is killed after eight seconds, with its group", async () => {
  const clock = new Clock();
  const rig = await start({ clock });
  const commandId = await rig.begin("background sleep 600", "stuck");
  await rig.noted("stuck");
  const { pid } = rig.engine.standing();
  await rig.send({ type: "cancel", commandId });
  await rig.noted("cancel");
  await clock.advance(7_900);
  expect((await processInfo(pid!))?.isDead).toBe(false);
  await clock.advance(100);
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect((await processInfo(pid!))?.isDead ?? true).toBe(true);
  expect(await rig.data("harness.stopped")).toEqual([
    { reason: "it did not stop when it was cancelled" },
  ]);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
});

/** A run that the agent opened by itself, with a call that it is at work on. */
async function busyByItself(rig: Rig): Promise<string> {
  await rig.prompt("busily go end execute make", "say done");
  rig.release("go");
  await rig.noted("busy");
  await until(async () => (await rig.data("call.started")).length === 1, "the call in the log");
  return (await rig.session.read()).running!.commandId;
}

test("[AC8] a cancelled run that the agent opened by itself ends once the agent is silent", async () => {
  const clock = new Clock();
  const rig = await start({ clock });
  const commandId = await busyByItself(rig);
  const { pid } = rig.engine.standing();
  await rig.send({ type: "cancel", commandId });
  await rig.noted("cancel");
  await clock.advance(4_000);
  expect((await rig.session.read()).running?.commandId).toBe(commandId);
  rig.release("end");
  await rig.noted("idle");
  await until(async () => {
    await clock.advance(500);
    return (await rig.session.read()).running === undefined;
  }, "the end of the run");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(rig.engine.standing().pid).toBe(pid);
  expect(await rig.data("run.settled")).toHaveLength(2);
});

test("[AC8] what the agent goes on with by itself eight seconds after it was cancelled is killed", async () => {
  const clock = new Clock();
  const rig = await start({ clock });
  const commandId = await busyByItself(rig);
  const { pid } = rig.engine.standing();
  await rig.send({ type: "cancel", commandId });
  await rig.noted("cancel");
  await clock.advance(7_500);
  expect((await rig.session.read()).running?.commandId).toBe(commandId);
  await clock.advance(500);
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect((await processInfo(pid!))?.isDead ?? true).toBe(true);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
});

test("[AC28] an agent whose run cannot be written is ended at once, and the message is unknown, not cancelled", async () => {
  const rig = await start();
  await rig.prompt("say one");
  const { pid } = rig.engine.standing();
  rig.refuseWrites("message.assistant");
  const settlement = await rig.prompt("say half", "tool edit a", "stuck");
  expect(settlement.terminal).toBe("outcome_unknown");
  expect(settlement.diagnostic).toContain("could not be written to the log");
  expect((await processInfo(pid!))?.isDead ?? true).toBe(true);
});

test("[AC28] an agent that tells what belongs to no run is ended as well where that cannot be written", async () => {
  const rig = await start();
  await rig.prompt("quietly go compact", "say done");
  const { pid } = rig.engine.standing();
  rig.refuseWrites("harness.line");
  rig.release("go");
  await until(async () => (await rig.data("harness.stopped")).length > 0, "its end");
  expect((await processInfo(pid!))?.isDead ?? true).toBe(true);
  expect(await rig.data("harness.stopped")).toEqual([
    { reason: "what it does cannot be recorded" },
  ]);
  expect(rig.reported.map(String)).toEqual([expect.stringContaining("no room")]);
});

test("[AC28] a message that could not be noted as sent is not sent, and fails", async () => {
  const rig = await start();
  await rig.prompt("say one");
  rig.refuseWrites("harness.line");
  const settlement = await rig.prompt("say two");
  expect(settlement).toMatchObject({ terminal: "failed" });
  expect(settlement.diagnostic).toContain("was not given to the agent");
  expect(prompts(rig)).toEqual(["say one"]);
});

test("[AC16] a turn that a stopping host ends is interrupted, and its conversation goes on", async () => {
  const rig = await start();
  const commandId = await rig.begin("say half", "hang");
  await rig.noted("hangs");
  await rig.reopen();
  const settlement = await rig.settled(commandId);
  expect(settlement).toMatchObject({ terminal: "interrupted" });
  expect(settlement.diagnostic).toContain("told to stop, and did");
  expect(await rig.data("message.assistant")).toMatchObject([{ content: [{ text: "half" }] }]);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
  expect(prompts(rig)).toEqual(["say half\nhang", "count"]);
});

test("[AC16] after a kill of the host in mid-turn the message is unknown and never sent twice", async () => {
  const rig = await start();
  await rig.shut();
  await killInMidRun(rig, "prompt", "open edit a", "permit execute b");
  const left = Number((await rig.noted("began"))["began"]);
  await rig.open();
  const { running } = await rig.session.read();
  const settlement = await rig.settled(running!.commandId);
  expect(settlement.terminal).toBe("outcome_unknown");
  expect(settlement.diagnostic).toContain("cannot tell how far it came");
  expect((await processInfo(left))?.isDead ?? true).toBe(true);
  expect(prompts(rig)).toEqual(["open edit a\npermit execute b"]);
  expect((await rig.session.read()).approvals).toEqual([]);
  expect(await rig.data("approval.withdrawn")).toHaveLength(1);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
});

test("[AC16] after a kill of the host before the message was sent it is sent, once", async () => {
  const rig = await start();
  await rig.shut();
  await killInMidRun(rig, "process", "count");
  await rig.open();
  const { running } = await rig.session.read();
  expect(await rig.settled(running!.commandId)).toMatchObject({ answer: "prompt 1" });
  expect(prompts(rig)).toEqual(["count"]);
});

test("[AC16] steers that joined and were not sent are sent after a kill of the host", async () => {
  const rig = await start();
  await rig.shut();
  await killInMidRun(rig, "joined", "say first", "wait go");
  rig.release("go");
  await rig.open();
  const { running } = await rig.session.read();
  expect(await rig.settled(running!.commandId)).toMatchObject({
    terminal: "completed",
    answer: "a steer",
  });
  expect(prompts(rig)).toEqual(["say first\nwait go", "a steer"]);
});

test.each(["--load", "--resume"])(
  "[AC17] a conversation goes on by %s, and nothing of it is recorded again",
  async (flag) => {
    const rig = await start({ flags: [flag] });
    await rig.prompt("say one");
    const before = await rig.data("harness.conversation");
    await rig.reopen();
    expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
    expect(await rig.data("harness.conversation")).toEqual(before);
    expect((await rig.data("message.assistant")).map((it) => it.content)).toMatchObject([
      [{ text: "one" }],
      [{ text: "prompt 2" }],
    ]);
    expect(await rig.updates()).toEqual(["agent_message_chunk", "agent_message_chunk"]);
  },
);

test("[AC17] an agent that cannot go back begins anew and the log says so", async () => {
  const rig = await start({ flags: [] });
  await rig.prompt("say one");
  await rig.reopen();
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 1" });
  expect(await rig.data("harness.conversation")).toHaveLength(2);
  expect(JSON.stringify(await rig.data("harness.line"))).toContain("cannot go back");
});

test("[AC17] a conversation that the agent knows no more is refused; a new one begins on request", async () => {
  const rig = await start();
  await rig.prompt("say one");
  await rig.engine.newConversation();
  rig.forget();
  const settlement = await rig.prompt("count");
  expect(settlement).toMatchObject({ terminal: "failed" });
  expect(settlement.diagnostic).toMatch(/does not know conversation s-\d+ any more/);
  await rig.session.restart();
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 1" });
});

test("[AC18] a process that dies in a turn fails the run with its last words, and no secret", async () => {
  const rig = await start({ env: { SOME_API_KEY: "made-up-and-long" } });
  const commandId = await rig.begin("say half", "permit execute a", "say never");
  await rig.asked();
  process.kill(rig.engine.standing().pid!, "SIGKILL");
  const killed = await rig.settled(commandId);
  expect(killed).toMatchObject({ terminal: "failed" });
  expect(killed.diagnostic).toContain("process ended while it worked: killed by SIGKILL");
  expect(await rig.data("approval.withdrawn")).toMatchObject([
    { reason: expect.stringContaining("process is gone") },
  ]);
  const crashed = await rig.prompt("crash Error: key made-up-and-long is wrong");
  expect(crashed.diagnostic).toMatch(/ended with code 7: Error: key .* is wrong/);
  expect(crashed.diagnostic).not.toContain("made-up-and-long");
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 3" });
});

test.each(["permit", "eager"])(
  "[AC34] a process that dies while a person is asked (%s) has not made that call",
  async (move) => {
    const rig = await start();
    const commandId = await rig.begin(`${move} execute rm`);
    await rig.asked();
    process.kill(rig.engine.standing().pid!, "SIGKILL");
    expect(await rig.settled(commandId)).toMatchObject({ terminal: "failed" });
    expect(await rig.data("message.tool")).toMatchObject([{ name: "rm", isError: true }]);
    expect(JSON.stringify(await rig.data("message.tool"))).toContain("did not make this call");
  },
);

test("[AC18] a process that dies in a call that may have changed something leaves it unknown", async () => {
  const rig = await start();
  const settlement = await rig.prompt("open execute rm", "crash bye");
  expect(settlement.terminal).toBe("outcome_unknown");
  expect(settlement.diagnostic).toContain("what became of: rm");
});

test.each([
  ["--speaks=2", /test-agent speaks version 2 .* and Lichen version 1: update/],
  ["--sign-in", /wants you to sign in. It offers: Sign in on the web \(Run `test-agent login`\)/],
  ["--garbage", /ended before it took messages: ended with code 2: no such option: --acp/],
  ["--dies=cannot find my config", /ended with code 3: cannot find my config/],
])("[AC19] an agent with %s fails the run with what to do", async (flag, words) => {
  const rig = await start({ flags: [flag] });
  const settlement = await rig.prompt("hello");
  expect(settlement.terminal).toBe("failed");
  expect(settlement.diagnostic).toMatch(words);
  expect(rig.engine.standing().isRunning).toBe(false);
});

test("[AC19] a program that is not there is named", async () => {
  const rig = await start({ command: ["no-such-agent-here"] });
  const settlement = await rig.prompt("hello");
  expect(settlement.diagnostic).toContain("no-such-agent-here is not there: install it");
});

test("[AC19] a program that never answers is given up after a minute", async () => {
  const clock = new Clock();
  const rig = await start({ flags: ["--mute"], clock });
  const commandId = await rig.begin("hello");
  await rig.noted("began");
  await clock.advance(60_000);
  expect((await rig.settled(commandId)).diagnostic).toContain("did not answer in a minute");
});

test("[AC20] what the agent says by itself is a run of its own", async () => {
  const rig = await start();
  await rig.prompt("later go by myself", "say done");
  rig.release("go");
  await until(
    async () => (await rig.data("run.settled")).length === 2,
    "the run that the agent opened",
  );
  const queued = (await rig.data("command.queued")).at(-1);
  expect(queued).toMatchObject({ type: "outside", source: "test-agent", text: "" });
  expect((await rig.data("run.settled")).at(-1)).toMatchObject({
    terminal: "completed",
    answer: "by myself",
  });
});

test("[AC20] a call that the agent makes by itself stands with its intent and its outcome, however fast it is", async () => {
  const rig = await start();
  rig.release("end");
  await rig.prompt("busily go end execute make", "say done");
  rig.release("go");
  await rig.noted("idle");
  await until(async () => (await rig.data("run.settled")).length === 2, "the agent's own run");
  expect(await rig.data("call.started")).toMatchObject([{ label: "write" }]);
  expect(await rig.data("message.tool")).toMatchObject([{ isError: false }]);
  expect((await rig.data("run.settled")).at(-1)).toMatchObject({ terminal: "completed" });
});

test("[AC20] a permission that is asked outside of any turn is asked in a run of its own", async () => {
  const rig = await start();
  await rig.prompt("afterwards go execute tests", "say done");
  rig.release("go");
  const { approvalId } = await rig.asked();
  await rig.answer(approvalId, { allow: true });
  await until(
    async () => (await rig.data("run.settled")).length === 2,
    "the run that the agent opened",
  );
  expect(await rig.noted("permission")).toEqual({ permission: "yes" });
  expect((await rig.data("run.settled")).at(-1)).toMatchObject({ answer: "did tests" });
});

test("[AC21] a restart interrupts the run in hand and goes on with the same conversation", async () => {
  const rig = await start();
  const commandId = await rig.begin("say half", "hang");
  await rig.noted("hangs");
  const { pid } = rig.engine.standing();
  await rig.engine.restart();
  const settlement = await rig.settled(commandId);
  expect(settlement).toMatchObject({ terminal: "interrupted" });
  expect(settlement.diagnostic).toContain("it was restarted");
  expect(rig.engine.standing()).toMatchObject({ isRunning: true });
  expect(rig.engine.standing().pid).not.toBe(pid);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
  expect(await rig.data("harness.restarted")).toHaveLength(1);
});

test("[AC21] a new conversation begins with a new process and knows nothing of the former", async () => {
  const rig = await start();
  await rig.prompt("say one");
  await rig.session.restart();
  await rig.engine.newConversation();
  expect(rig.engine.standing().isRunning).toBe(false);
  expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 1" });
  const ids = (await rig.data("harness.conversation")).map((it) => it.conversation);
  expect(new Set(ids).size).toBe(2);
});
