import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ReceivedRequest, ScriptedProvider, Step } from "../../src/testing/index.ts";
import { isMarked, processes } from "../../src/harness/host/processes.ts";
import { killRealInMidRun } from "./kill.ts";
import { piAcp, qwen, type RealAgent, realAgents, type RealName, realRig } from "./real.ts";
import type { Rig, RigOptions } from "./rig.ts";

interface Opened {
  readonly rig: Rig;
  readonly provider: ScriptedProvider;
  /** What the model answers next to what was asked for, in place of what it was not asked for so far. */
  readonly says: (...steps: Step[]) => void;
}

const open: Opened[] = [];
afterEach(async () => {
  for (const { rig, provider } of open.splice(0)) {
    await rig.close();
    await provider.close();
  }
});

async function start(agent: RealAgent, options: RigOptions = {}): Promise<Opened> {
  const steps: Step[] = [];
  // Agents ask their models more than they are asked: for a title, for what may come next.
  const script = (request: ReceivedRequest) => (isMain(request) ? steps.shift() : "ok");
  const opened = {
    ...(await realRig(agent, script, options)),
    says: (...more: Step[]) => void steps.splice(0, steps.length, ...more),
  };
  open.push(opened);
  return opened;
}

function isMain({ messages, body }: ReceivedRequest): boolean {
  const last = messages.at(-1);
  return "tools" in body && (last?.text.includes("please") || last?.results.length !== 0);
}

function writing(agent: RealAgent, rig: Rig, name: string): Step {
  const input = agent.writes.input(join(rig.dir, name), "hello");
  return { parts: [{ text: "I write it" }, { call: { name: agent.writes.name, input } }] };
}

/** A file that the extension asks for. */
const file = "asked.txt";

test("[AC24] pi through pi-acp writes a file that a person allowed", async () => {
  const { rig, says } = await start(piAcp);
  says(writing(piAcp, rig, file), "all done");
  const commandId = await rig.begin("write it please");
  const asked = await rig.asked();
  expect(asked).toMatchObject({ kind: "tool", description: expect.stringMatching(/writ/i) });
  await rig.answer(asked.approvalId, { allow: true });
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "completed",
    answer: "all done",
    toolCalls: 1,
  });
  expect(await readFile(join(rig.dir, file), "utf8")).toBe("hello");
  expect(await rig.data("call.started")).toMatchObject([{ label: "write" }]);
  expect(await rig.data("message.tool")).toMatchObject([
    { isError: false, data: { kind: "edit", diffs: [{ newText: "hello" }] } },
  ]);
  expect(rig.reported).toEqual([]);
});

test("[AC24] pi through pi-acp leaves a file that a person denied", async () => {
  const { rig, says } = await start(piAcp);
  says(writing(piAcp, rig, file), "left it");
  const commandId = await rig.begin("write it please");
  await rig.answer((await rig.asked()).approvalId, { allow: false });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed" });
  expect(existsSync(join(rig.dir, file))).toBe(false);
  expect(await rig.data("message.tool")).toMatchObject([{ isError: true }]);
});

test("[AC24] Qwen Code writes a file that was allowed once, none that was denied, and asks no more for always", async () => {
  const { rig, says } = await start(qwen);
  const decided = async (name: string, answer: { allow: boolean; always?: true }) => {
    says(writing(qwen, rig, name), `done with ${name}`);
    const commandId = await rig.begin(`write ${name} please`);
    await rig.answer((await rig.asked()).approvalId, answer);
    return rig.settled(commandId);
  };
  expect(await decided("a.txt", { allow: true })).toMatchObject({
    terminal: "completed",
    answer: "done with a.txt",
    toolCalls: 1,
  });
  expect(await readFile(join(rig.dir, "a.txt"), "utf8")).toBe("hello");
  expect(await rig.data("message.tool")).toMatchObject([
    { isError: false, data: { kind: "edit", diffs: [{ newText: "hello" }] } },
  ]);
  expect(await decided("b.txt", { allow: false })).toMatchObject({ terminal: "completed" });
  expect(existsSync(join(rig.dir, "b.txt"))).toBe(false);
  expect(await decided("c.txt", { allow: true, always: true })).toMatchObject({
    answer: "done with c.txt",
  });
  says(writing(qwen, rig, "d.txt"), "done again");
  expect(await rig.prompt("write d.txt please")).toMatchObject({ answer: "done again" });
  expect(existsSync(join(rig.dir, "d.txt"))).toBe(true);
  expect(await rig.data("approval.asked")).toHaveLength(3);
  expect(rig.reported).toEqual([]);
});

test("[AC24] pi through pi-acp writes under auto-approve", async () => {
  const { rig, says } = await start(piAcp, { settings: { autoApprove: true } });
  says(writing(piAcp, rig, file), "all done");
  expect(await rig.prompt("write it please")).toMatchObject({ answer: "all done" });
  expect(existsSync(join(rig.dir, file))).toBe(true);
  expect(await rig.data("approval.asked")).toEqual([]);
});

test.each([
  { name: "pi through pi-acp", agent: piAcp },
  { name: "Qwen Code", agent: qwen },
])(
  "[AC24] $name: a permission of a killed process is withdrawn, its conversation goes on",
  async ({ agent }) => {
    const { rig, provider, says } = await start(agent);
    says("one", writing(agent, rig, file));
    await rig.prompt("first please");
    const commandId = await rig.begin("write it please");
    const { approvalId } = await rig.asked();
    process.kill(rig.engine.standing().pid!, "SIGKILL");
    const settlement = await rig.settled(commandId);
    expect(["failed", "outcome_unknown"]).toContain(settlement.terminal);
    expect(settlement.diagnostic).toContain("process ended while it worked");
    expect(await rig.answer(approvalId, { allow: true })).toBe("too_late");
    says("two");
    expect(await rig.prompt("again please")).toMatchObject({ answer: "two" });
    const last = provider.requests.filter(isMain).at(-1);
    expect(last?.messages.map((it) => it.text).join()).toContain("first please");
    expect(existsSync(join(rig.dir, file))).toBe(false);
    expect((await rig.data("message.user")).map((it) => it.text)).toEqual([
      "first please",
      "write it please",
      "again please",
    ]);
  },
);

const each = [
  { name: "pi through pi-acp", agent: "piAcp" as const },
  { name: "Qwen Code", agent: "qwen" as const },
];

/** A rig of a real agent whose host was killed at this moment of its first prompt, and is there again. */
async function killedAt(moment: string, agent: RealName, steps: (rig: Rig) => Step[]) {
  const opened = await start(realAgents[agent]);
  const { rig, provider, says } = opened;
  says(...steps(rig));
  await rig.shut();
  await killRealInMidRun(rig, moment, { prompt: "first please", agent, url: provider.url });
  await rig.open();
  const [queued] = (await rig.entries()).filter(({ kind }) => kind === "command.queued");
  return { ...opened, settlement: await rig.settled(queued!.commandId!) };
}

/** How often the model was to answer the first message, and not one after it in whose history it stands. */
function timesAsked(provider: ScriptedProvider): number {
  const last = provider.requests.filter(isMain).map(({ messages }) => messages.at(-1)?.text ?? "");
  return last.filter((it) => it.includes("first please") && !it.includes("again please")).length;
}

async function expectNothingLeft(rig: Rig): Promise<void> {
  const { epoch } = await rig.session.read();
  await rig.shut();
  expect((await processes()).filter(({ pid }) => isMarked(pid, epoch))).toEqual([]);
  await rig.open();
}

test.each(each)(
  "[AC29] $name: killed before the message was sent, the host sends it once",
  async ({ agent }) => {
    const { rig, provider, settlement } = await killedAt("opened", agent, () => ["one"]);
    expect(settlement).toMatchObject({ terminal: "completed", answer: "one" });
    expect(timesAsked(provider)).toBe(1);
    await expectNothingLeft(rig);
  },
);

test.each(each)(
  "[AC34] $name: killed while a person is asked, the host ends the agent, does nothing twice and says so",
  async ({ agent }) => {
    const { rig, provider, says, settlement } = await killedAt("prompt", agent, (it) => [
      writing(realAgents[agent], it, file),
    ]);
    // Through pi-acp a permission names no call: nothing ties it to the one that waits for it.
    const isCertain = agent !== "piAcp";
    expect(settlement.terminal).toBe(isCertain ? "interrupted" : "outcome_unknown");
    if (isCertain) expect(settlement.diagnostic).toContain("it was not done");
    expect((await rig.session.read()).approvals).toEqual([]);
    expect(existsSync(join(rig.dir, file))).toBe(false);
    says("two");
    expect(await rig.prompt("again please")).toMatchObject({ answer: "two" });
    expect(timesAsked(provider)).toBe(1);
    await expectNothingLeft(rig);
  },
);

test.each(each)(
  "[AC29] $name: killed between the agent's last word and the settlement, the host asks nothing again",
  async ({ agent }) => {
    const { rig, provider, says, settlement } = await killedAt("ended", agent, () => ["one"]);
    expect(settlement.terminal).toBe("outcome_unknown");
    expect(timesAsked(provider)).toBe(1);
    says("two");
    expect(await rig.prompt("again please")).toMatchObject({ answer: "two" });
    expect(timesAsked(provider)).toBe(1);
    await expectNothingLeft(rig);
  },
);

test("[AC24] pi through pi-acp is set to another model", async () => {
  const { rig, provider, says } = await start(piAcp);
  says("one", "two");
  await rig.prompt("first please");
  await rig.session.change({ model: "scripted/scripted-2" });
  await rig.prompt("second please");
  expect(provider.requests.filter(isMain).map(({ body }) => body["model"])).toEqual([
    "scripted-1",
    "scripted-2",
  ]);
});
