import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processInfo } from "../../src/harness/host/processes.ts";
import {
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
} from "../../src/testing/index.ts";
import { until } from "../../../runtime/test/clock.ts";
import { DoomedHost } from "./kill.ts";
import { bash, Rig } from "./rig.ts";

let folder = "";
let provider: ScriptedProvider;
let rig: Rig | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lichen-claude-"));
  await mkdir(join(folder, "project"), { recursive: true });
});
afterEach(async () => {
  if (rig) await rig.close();
  else await provider.close();
  rig = undefined;
  await rm(folder, { recursive: true, force: true });
});

const place = (name: string) => join(folder, "project", name);
const isCounted = async () =>
  existsSync(place("count.txt")) && (await readFile(place("count.txt"), "utf8")) !== "";

async function begin(script: Script, ...flags: string[]): Promise<DoomedHost> {
  provider = await startScriptedProvider({ script });
  return new DoomedHost(folder, provider.url, ...flags);
}

/** The host is killed; another opens its store, and the run settles. */
async function reopened(host: DoomedHost, settings = { autoApprove: false }) {
  await host.kill();
  rig = await Rig.start({ folder, provider, settings });
  const queued = await rig.untilEntry(({ kind }) => kind === "command.queued");
  const settled = await rig.settled(queued.commandId ?? "");
  return { rig, settled };
}

/** What the model was given, in its newest request. */
const given = () => (provider.requests.at(-1)?.messages ?? []).map(({ text }) => text).join("\n");
const times = (text: string, part: string) => text.split(part).length - 1;

test("[CC20] killed before anything was said, the message is said once", async () => {
  const host = await begin(["The zebra."]);
  await host.until("harness.process");
  const { settled, rig: after } = await reopened(host);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The zebra." });
  expect(provider.requests.length).toBe(1);
  expect(times(given(), "do the zebra task")).toBe(1);
  // The process of the dead host was ended before the next one began.
  const processes = await after.data("harness.process");
  expect(processes.length).toBe(2);
  expect((await processInfo(processes[0]!.group))?.isDead ?? true).toBe(true);
});

test("[CC21] killed in the model's answer, the turn goes on in the same conversation by a note", async () => {
  const host = await begin([
    { parts: [{ text: "Half of" }, { gate: "never" }] },
    "The whole zebra.",
  ]);
  await provider.reached("never");
  const written = async () => (await transcripts(folder)).includes("do the zebra task");
  await until(written, "its transcript");
  const { settled, rig: after } = await reopened(host);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The whole zebra." });
  expect(times(given(), "do the zebra task")).toBe(1);
  expect(given()).toContain("[Lichen: your process ended in the middle of this turn");
  expect(
    new Set((await after.data("harness.conversation")).map((it) => it.conversation)).size,
  ).toBe(1);
  expect(after.reported).toEqual([]);
});

test("[CC22] killed in a tool, the tool is ended, its outcome is unknown, and it does not run again", async () => {
  const host = await begin(
    [
      { parts: [bash("echo once >> count.txt; sleep 20; echo late >> count.txt")] },
      "I have looked.",
    ],
    "auto",
  );
  await host.until("call.started");
  await until(isCounted, "the tool's first effect");
  const { settled, rig: after } = await reopened(host, { autoApprove: true });
  expect(settled).toMatchObject({ terminal: "completed", answer: "I have looked." });
  expect(await readFile(place("count.txt"), "utf8")).toBe("once\n");
  const [outcome] = await after.data("message.tool");
  expect(outcome).toMatchObject({ name: "Bash", isError: true, interrupted: true });
  expect(given()).toContain("It is not known how far these calls came");
  expect(given()).toContain("echo once");
});

test("[CC22] killed while a person is asked, the permission is withdrawn and asked for anew", async () => {
  // The process that lost its host may still ask the model before it is ended: what it is told counts for nothing.
  const host = await begin(({ messages }) => {
    const told = messages.findIndex(({ text }) => text.includes("[Lichen: your process"));
    const results = messages.slice(told + 1).flatMap((message) => message.results);
    if (results.length === 0) return { parts: [bash("echo ran >> count.txt")] };
    return told === -1 ? "The user refused." : "It ran.";
  });
  await host.until("approval.asked");
  await host.kill();
  rig = await Rig.start({ folder, provider });
  const withdrawn = await rig.untilEntry(({ kind }) => kind === "approval.withdrawn");
  expect(withdrawn.data["reason"]).toBe("the process that asked has ended");
  const approval = await rig.untilAsked();
  const [first] = await rig.data("approval.asked");
  expect(withdrawn.data["approvalId"]).toBe(first?.approvalId);
  expect(approval.approvalId).not.toBe(first?.approvalId);
  const late = await rig.session.send({
    ...{ type: "answer", requestId: "late", allow: true },
    approvalId: first?.approvalId ?? "",
  });
  expect(late.status).toBe("too_late");
  await rig.answer(approval, { allow: true });
  const queued = await rig.untilEntry(({ kind }) => kind === "command.queued");
  const settled = await rig.settled(queued.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "It ran." });
  expect(await readFile(place("count.txt"), "utf8")).toBe("ran\n");
});

test("[CC41] what only waited for a person when its host was killed was never made, to people and to the model", async () => {
  const options = [
    { label: "A", description: "the first" },
    { label: "B", description: "the second" },
  ];
  const questions = [{ question: "Which one?", header: "Pick", multiSelect: false, options }];
  for (const call of [
    bash("touch asked.txt"),
    { call: { name: "AskUserQuestion", input: { questions } } },
  ]) {
    const host = await begin(({ messages }) =>
      messages.some(({ text }) => text.includes("[Lichen: your process"))
        ? "I go on."
        : { parts: [call] },
    );
    await host.until("approval.asked");
    // Its process goes with it, as where a computer is switched off: it cannot say that it was not answered.
    await host.kill({ withHarness: true });
    rig = await Rig.start({ folder, provider });
    const queued = await rig.untilEntry(({ kind }) => kind === "command.queued");
    const settled = await rig.settled(queued.commandId ?? "");
    expect(settled).toMatchObject({ terminal: "completed", answer: "I go on.", toolCalls: 0 });
    const [outcome] = await rig.data("message.tool");
    expect(JSON.stringify(outcome?.content)).toContain("This call did not run");
    expect(await rig.data("call.started")).toEqual([]);
    expect(given()).toContain("A permission that you asked for was lost with it");
    expect(given()).toContain("These calls were not made");
    expect(given()).not.toContain("It is not known");
    expect(existsSync(place("asked.txt"))).toBe(false);
    await rig.close();
    rig = undefined;
    await rm(folder, { recursive: true, force: true });
    await mkdir(join(folder, "project"), { recursive: true });
  }
});

test("[CC21] a permission that was lost with its host is never taken for a refusal of the user", async () => {
  const host = await begin((request) => {
    const results = request.messages.flatMap((message) => message.results.map(({ text }) => text));
    if (request.messages.some(({ text }) => text.includes("[Lichen: your process")))
      return "I go on with it.";
    return results.length > 0 ? "The user refused." : { parts: [bash("touch lost.txt")] };
  });
  await host.until("approval.asked");
  await host.kill();
  // Claude Code sees the end of its input, takes the call for refused, and ends the turn by itself.
  await until(() => provider.requests.length === 2, "a second request");
  await until(async () => (await transcripts(folder)).includes("The user refused."), "its answer");
  rig = await Rig.start({ folder, provider });
  const queued = await rig.untilEntry(({ kind }) => kind === "command.queued");
  const settled = await rig.settled(queued.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "I go on with it." });
  expect(given()).toContain("A permission that you asked for was lost with it");
  // What nobody heard is in the log all the same.
  const messages = JSON.stringify(await rig.data("message.assistant"));
  expect(messages).toContain("The user refused.");
  expect(existsSync(place("lost.txt"))).toBe(false);
});

test("[CC21] killed after the result, the run settles by it and nothing is said again", async () => {
  const host = await begin(["The zebra."], "holds");
  await host.until("ended");
  const { settled } = await reopened(host);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The zebra." });
  expect(provider.requests.length).toBe(1);
});

test("[CC21] what Claude Code brought to its end after its host was killed settles the run", async () => {
  const host = await begin(
    [{ parts: [{ text: "The " }, { gate: "end" }, { text: "zebra." }] }],
    "auto",
  );
  await provider.reached("end");
  await host.until("harness.line");
  await host.kill();
  provider.open("end");
  await until(async () => (await transcripts(folder)).includes("The zebra."), "its transcript");
  rig = await Rig.start({ folder, provider });
  const queued = await rig.untilEntry(({ kind }) => kind === "command.queued");
  const settled = await rig.settled(queued.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "The zebra." });
  expect(provider.requests.length).toBe(1);
  expect(JSON.stringify(await rig.data("message.assistant"))).toContain("The zebra.");
});

test("[CC21] killed again while it goes on, the turn goes on once more, and the message stays said once", async () => {
  const halves = ["first", "second"].map((gate) => ({ parts: [{ text: "Half of" }, { gate }] }));
  const host = await begin([...halves, "The whole zebra."]);
  await provider.reached("first");
  const written = async () => (await transcripts(folder)).includes("do the zebra task");
  await until(written, "its transcript");
  await host.kill();
  const next = new DoomedHost(folder, provider.url);
  await provider.reached("second");
  const noted = async () => (await transcripts(folder)).includes("[Lichen: your process");
  await until(noted, "the note in its transcript");
  const { settled, rig: after } = await reopened(next);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The whole zebra." });
  expect(times(given(), "do the zebra task")).toBe(1);
  expect((await after.data("harness.process")).length).toBe(3);
  expect((await after.data("run.started")).length).toBe(1);
  expect(after.reported).toEqual([]);
});

test("[CC22] killed in a tool that a person had allowed, nobody is asked again and it does not run again", async () => {
  const command = "echo once >> count.txt; sleep 20; echo late >> count.txt";
  const host = await begin([{ parts: [bash(command)] }, "I have looked."], "allows");
  await host.until("call.started");
  await until(isCounted, "the tool's first effect");
  const { settled, rig: after } = await reopened(host);
  expect(settled).toMatchObject({ terminal: "completed", answer: "I have looked." });
  expect(await readFile(place("count.txt"), "utf8")).toBe("once\n");
  expect((await after.data("approval.asked")).length).toBe(1);
  expect((await after.data("approval.withdrawn")).length).toBe(0);
  expect(await after.data("message.tool")).toMatchObject([{ interrupted: true }]);
});

test("[CC20] killed with a steer that had joined, prompt and steer are each said once and settle together", async () => {
  const host = await begin(
    ({ messages }) => {
      const all = messages.map(({ text }) => text).join("\n");
      if (all.includes("mind the lions")) return "Zebra and lions.";
      if (all.includes("[Lichen: your process")) return "The zebra.";
      return { parts: [bash("echo once >> count.txt; sleep 20")] };
    },
    ...["auto", "steers"],
  );
  await host.until("call.started");
  await until(isCounted, "the tool's first effect");
  // Joined, and on its way to a Claude Code that takes it only after the tool.
  await host.untilCount("message.user", 2);
  await host.kill();
  rig = await Rig.start({ folder, provider, settings: { autoApprove: true } });
  const steer = await rig.untilEntry(
    ({ kind, data }) => kind === "command.queued" && data["text"] === "mind the lions",
  );
  const settled = await rig.settled(steer.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "Zebra and lions." });
  expect(times(given(), "do the zebra task")).toBe(1);
  expect(times(given(), "mind the lions")).toBe(1);
  expect(await readFile(place("count.txt"), "utf8")).toBe("once\n");
});

test("[CC34] killed while what a sub-agent asks outlives its turn, it can be answered no more and its run ends", async () => {
  const host = await begin(({ messages }) => {
    const texts = messages.map(({ text }) => text).join("\n");
    if (texts.includes("work below") && !texts.includes("zebra task"))
      return { parts: [bash("touch below.txt")] };
    if (messages.some(({ results }) => results.length > 0)) return "Begun.";
    const input = { description: "sub", prompt: "work below", subagent_type: "general-purpose" };
    return { parts: [{ call: { name: "Task", input: { ...input, run_in_background: true } } }] };
  });
  await host.untilAfterSecond("run.started", "approval.asked");
  await host.kill();
  rig = await Rig.start({ folder, provider });
  const outside = await rig.untilEntry(({ data }) => data["type"] === "outside");
  expect(await rig.settled(outside.commandId ?? "")).toMatchObject({ terminal: "interrupted" });
  expect((await rig.session.read()).approvals).toEqual([]);
  const withdrawn = await rig.data("approval.withdrawn");
  expect(withdrawn.at(-1)?.reason).toBe("the process that asked has ended");
  expect(existsSync(place("below.txt"))).toBe(false);
});

test("[CC22] a harness that is killed while a person is asked asks anew, and the former question is withdrawn", async () => {
  provider = await startScriptedProvider({
    script: ({ messages }) =>
      messages.flatMap(({ results }) => results).length > 0
        ? "It ran."
        : { parts: [bash("echo ran >> count.txt")] },
  });
  rig = await Rig.start({ folder, provider });
  const command = await rig.send({ type: "prompt", text: "do the zebra task" });
  const first = await rig.untilAsked();
  process.kill(-(rig.engine.standing().pid ?? 0), "SIGKILL");
  const withdrawn = await rig.untilEntry(({ kind }) => kind === "approval.withdrawn");
  expect(withdrawn.data).toMatchObject({
    approvalId: first.approvalId,
    reason: "the process that asked has ended",
  });
  await rig.answer(await rig.untilAsked(), { allow: true });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "It ran." });
  expect(await readFile(place("count.txt"), "utf8")).toBe("ran\n");
  expect(rig.reported).toEqual([]);
});

test("[CC22] a harness that is killed in a tool goes on with the tool's outcome unknown, and does not run it again", async () => {
  provider = await startScriptedProvider({
    script: [
      { parts: [bash("echo once >> count.txt; sleep 20; echo late >> count.txt")] },
      "I have looked.",
    ],
  });
  rig = await Rig.start({ folder, provider, settings: { autoApprove: true } });
  const command = await rig.send({ type: "prompt", text: "do the zebra task" });
  await rig.untilEntry(({ kind }) => kind === "call.started");
  await until(isCounted, "the tool's first effect");
  process.kill(-(rig.engine.standing().pid ?? 0), "SIGKILL");
  expect(await rig.settled(command)).toMatchObject({
    ...{ terminal: "completed", answer: "I have looked." },
  });
  expect(await readFile(place("count.txt"), "utf8")).toBe("once\n");
  expect(given()).toContain("It is not known how far these calls came");
  expect(await rig.data("message.tool")).toMatchObject([{ name: "Bash", isError: true }]);
});

test("[CC6] a harness that is killed in mid-turn is started again and goes on with it", async () => {
  provider = await startScriptedProvider({
    script: [{ parts: [{ text: "Half" }, { gate: "never" }] }, "The whole zebra.", "And after."],
  });
  rig = await Rig.start({ folder, provider });
  const command = await rig.send({ type: "prompt", text: "do the zebra task" });
  await rig.untilShown("Half");
  await rig.untilEntry(({ data }) => JSON.stringify(data).includes("system"));
  process.kill(-(rig.engine.standing().pid ?? 0), "SIGKILL");
  const settled = await rig.settled(command);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The whole zebra." });
  const [stopped] = await rig.data("harness.stopped");
  expect(stopped?.reason).toContain("SIGKILL");
  expect(await rig.prompt("after")).toMatchObject({ answer: "And after." });
});

test("[CC6] a restart ends the turn in hand, and the next message goes on in the same conversation", async () => {
  provider = await startScriptedProvider({
    script: ["One zebra.", { parts: [{ text: "Half" }, { hang: true }] }, "Next zebra."],
  });
  rig = await Rig.start({ folder, provider });
  await rig.prompt("count zebras");
  const command = await rig.send({ type: "prompt", text: "hang" });
  const queued = await rig.send({ type: "prompt", text: "go on" });
  await rig.untilShown("Half");
  await rig.engine.restart();
  const settled = await rig.settled(command);
  expect(settled).toMatchObject({ terminal: "interrupted" });
  expect(settled.diagnostic).toContain("it was restarted");
  expect(await rig.settled(queued)).toMatchObject({ terminal: "completed", answer: "Next zebra." });
  expect(given()).toContain("count zebras");
  expect((await rig.data("harness.restarted")).length).toBe(1);
});

test("[CC6] a host that closes leaves its run to the next, which goes on with it", async () => {
  provider = await startScriptedProvider({
    script: [{ parts: [{ text: "Half" }, { gate: "never" }] }, "The whole zebra."],
  });
  rig = await Rig.start({ folder, provider });
  const command = await rig.send({ type: "prompt", text: "do the zebra task" });
  await rig.untilShown("Half");
  await rig.reopen();
  expect(await rig.settled(command)).toMatchObject({ answer: "The whole zebra." });
  expect(await rig.data("harness.stopped")).toMatchObject([{ reason: "its host ended" }]);
  expect(rig.reported).toEqual([]);
});

test("[CC38] what a turn costs is counted from the first on, also in a process that goes on with a conversation", async () => {
  const usage = { input: 100, output: 1_000 };
  const script = ["One.", "Two.", "Three."].map((text) => ({ parts: [{ text }], usage }));
  provider = await startScriptedProvider({ script });
  rig = await Rig.start({ folder, provider });
  const costs = [(await rig.prompt("first")).usage.cost];
  await rig.reopen();
  costs.push((await rig.prompt("second")).usage.cost, (await rig.prompt("third")).usage.cost);
  const [first = 0] = costs;
  expect(first).toBeGreaterThan(0);
  expect(costs.map((cost) => cost?.toFixed(6))).toEqual(costs.map(() => first.toFixed(6)));
});

test("[CC23] a conversation goes on by its id in another process, and a new one begins without its past", async () => {
  provider = await startScriptedProvider({ script: ["One zebra.", "Two zebras.", "No zebra."] });
  rig = await Rig.start({ folder, provider });
  await rig.prompt("count zebras");
  await rig.reopen();
  expect(await rig.prompt("and now")).toMatchObject({ answer: "Two zebras." });
  expect(given()).toContain("One zebra.");
  await rig.session.restart();
  await rig.engine.newConversation();
  expect(await rig.prompt("and then")).toMatchObject({ answer: "No zebra." });
  expect(given()).not.toContain("count zebras");
  expect(new Set((await rig.data("harness.conversation")).map((it) => it.conversation)).size).toBe(
    2,
  );
});

async function transcripts(of: string): Promise<string> {
  const projects = join(of, "home/.claude/projects");
  if (!existsSync(projects)) return "";
  const files = await readdir(projects, { recursive: true });
  const whole = files.filter((file) => file.endsWith(".jsonl"));
  const texts = await Promise.all(whole.map((file) => readFile(join(projects, file), "utf8")));
  return texts.join("\n");
}
