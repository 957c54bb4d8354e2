// The host is killed in each window of a run, and opened again.

import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Settlement } from "@lichen/wire";
import { isMarked, processes, processInfo } from "../../src/harness/host/processes.ts";
import { killInMidRun } from "./kill.ts";
import { Rig, type RigOptions } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

/** A rig whose host was killed at these moments, and is there again. */
async function killedAt(moments: readonly string[], lines: string[], options: RigOptions = {}) {
  const rig = await Rig.start(options);
  open.push(rig);
  await rig.shut();
  for (const [at, moment] of moments.entries())
    await killInMidRun(rig, moment, ...(at === 0 ? lines : []));
  const left = begun(rig);
  await rig.open();
  return { rig, left };
}

const prompts = (rig: Rig) => rig.journal().flatMap((fact) => fact["prompt"] ?? []);
const begun = (rig: Rig) => rig.journal().flatMap((fact) => fact["began"] ?? []) as number[];

async function settledOf(rig: Rig): Promise<Settlement> {
  const [queued] = (await rig.entries()).filter((entry) => entry.kind === "command.queued");
  return rig.settled(queued!.commandId!);
}

/** No process that ever carried the session's mark. */
async function expectNothingLeft(rig: Rig): Promise<void> {
  const { epoch } = await rig.session.read();
  await rig.shut();
  expect((await processes()).filter(({ pid }) => isMarked(pid, epoch))).toEqual([]);
  await rig.open();
}

async function expectGone(pids: readonly number[]): Promise<void> {
  for (const pid of pids) expect((await processInfo(pid))?.isDead ?? true, `${pid}`).toBe(true);
}

test.each([
  ["unrecorded", 0],
  ["process", 0],
  ["new", 1],
  ["opened", 1],
])(
  "[AC29] killed before anything was sent (%s), the host sends the message once when it is there again",
  async (moment, begins) => {
    const { rig, left } = await killedAt([moment], ["count"]);
    expect(await settledOf(rig)).toMatchObject({ terminal: "completed", answer: "prompt 1" });
    expect(prompts(rig)).toEqual(["count"]);
    expect(left).toHaveLength(begins);
    await expectGone(left);
    expect(await rig.data("message.user")).toHaveLength(1);
    expect(rig.reported).toEqual([]);
    // The conversation that was known is the one that goes on.
    expect(await rig.data("harness.conversation")).toHaveLength(1);
    expect(await rig.prompt("count")).toMatchObject({ answer: "prompt 2" });
    await expectNothingLeft(rig);
  },
);

test.each([
  ["noted", ["wait go"], 0],
  ["received", ["wait go"], 1],
  ["prompt", ["background sleep 600", "open execute a", "permit execute b"], 1],
  ["allowed", ["grant execute b", "wait go"], 1],
  ["ended", ["say all of it"], 1],
])(
  "[AC29] killed after the message may have been sent (%s), it says that it does not know, and sends nothing again",
  async (moment, lines, sent) => {
    const { rig, left } = await killedAt([moment], lines);
    const settlement = await settledOf(rig);
    expect(settlement.terminal).toBe("outcome_unknown");
    expect(settlement.diagnostic).toContain("cannot tell how far it came");
    expect(prompts(rig)).toHaveLength(sent);
    expect((await rig.session.read()).approvals).toEqual([]);
    await expectGone(left);
    const terminals = rig.journal().flatMap((fact) => (fact["terminal"] ? [fact["pid"]] : []));
    await expectGone(terminals as number[]);
    expect(await rig.prompt("count")).toMatchObject({ answer: `prompt ${sent + 1}` });
    expect(prompts(rig)).toHaveLength(sent + 1);
    expect(await rig.data("message.user")).toHaveLength(2);
    expect(rig.reported).toEqual([]);
    await expectNothingLeft(rig);
  },
);

test("[AC29] killed again while it recovers, it comes to the same end", async () => {
  const unsent = await killedAt(["process", "recovering", "process"], ["count"]);
  expect(await settledOf(unsent.rig)).toMatchObject({ answer: "prompt 1" });
  expect(prompts(unsent.rig)).toEqual(["count"]);
  await expectGone(unsent.left);
  const sent = await killedAt(["received", "recovering"], ["wait go"]);
  expect(await settledOf(sent.rig)).toMatchObject({ terminal: "outcome_unknown" });
  expect(prompts(sent.rig)).toEqual(["wait go"]);
  await expectGone(sent.left);
});

test.each(["permit", "eager"])(
  "[AC34] killed while it waits for permission (%s), it says that this was not done, and sends nothing again",
  async (move) => {
    const lines = ["tool edit a", "background sleep 600", `${move} execute b`];
    const { rig, left } = await killedAt(["prompt"], lines);
    const settlement = await settledOf(rig);
    expect(settlement.terminal).toBe("interrupted");
    expect(settlement.diagnostic).toContain("a person's answer for b: it was not done");
    expect(await rig.data("message.tool")).toMatchObject([
      { name: "a", isError: false },
      { name: "b", isError: true, content: [{ text: expect.stringContaining("was not made") }] },
    ]);
    expect((await rig.data("message.tool")).at(-1)).not.toHaveProperty("interrupted");
    expect(await rig.data("approval.withdrawn")).toMatchObject([
      { reason: "the agent that asked ended with its host" },
    ]);
    expect(prompts(rig)).toHaveLength(1);
    await expectGone(left);
    const [terminal] = rig.journal().flatMap((fact) => (fact["terminal"] ? [fact["pid"]] : []));
    await expectGone([terminal as number]);
    await expectNothingLeft(rig);
  },
);

test("[AC34] killed again while it says so, it comes to the same end", async () => {
  const { rig } = await killedAt(["prompt", "recovering", "told"], ["permit execute b"]);
  expect(await settledOf(rig)).toMatchObject({ terminal: "interrupted" });
  expect(await rig.data("message.tool")).toHaveLength(1);
});

test("[AC29] an answer that nobody could give any more is too late, and what it would have allowed is not done", async () => {
  const { rig } = await killedAt(["prompt"], ["permit execute b"]);
  await settledOf(rig);
  const [asked] = await rig.data("approval.asked");
  expect(await rig.answer(asked!.approvalId, { allow: true })).toBe("too_late");
  expect(rig.journal().filter((fact) => "permission" in fact)).toEqual([]);
});

const echo = [
  process.execPath,
  join(import.meta.dirname, "../../../../examples/echo-agent/agent.mjs"),
];

test("[AC29] of an agent without a way back, what was not sent is sent to a new conversation", async () => {
  const { rig } = await killedAt(["opened"], ["hello"], { command: echo });
  expect(await settledOf(rig)).toMatchObject({ answer: "You said: hello" });
  expect(await rig.data("harness.conversation")).toHaveLength(2);
});
