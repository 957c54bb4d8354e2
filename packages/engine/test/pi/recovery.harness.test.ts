// What becomes of a prompt whose host was killed, at each moment that makes a difference.

import { spawn } from "node:child_process";
import { once as happened } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Settlement } from "@lichen/wire";
import { expect, onTestFinished, test } from "vitest";
import type { ReceivedRequest, Step } from "../../src/testing/index.ts";
import { pi, type Rig, type RigOptions, startRig } from "./rig.ts";

interface Killed extends Omit<RigOptions, "inherits"> {
  /** Of each host that was killed, one after the other. */
  readonly at: string | readonly string[];
  readonly text?: string;
  readonly steer?: string;
}

/** A rig on the store of a host that was killed, and how its run ended. */
async function afterKill({
  at,
  text = "go",
  steer = "",
  ...options
}: Killed): Promise<{ rig: Rig; settlement: Settlement }> {
  const rig = await startRig({
    ...options,
    async inherits(folder) {
      for (const moment of [at].flat()) await killedAt(folder, moment, text, steer);
    },
  });
  onTestFinished(() => rig.close());
  const queued = (await rig.entries()).findLast(
    ({ kind, requestId }) => kind === "command.queued" && requestId === "first",
  );
  return { rig, settlement: await rig.settled(queued?.commandId ?? "") };
}

async function killedAt(
  folder: string,
  moment: string,
  text: string,
  steer: string,
): Promise<void> {
  const program = join(import.meta.dirname, "killed-host.ts");
  const host = spawn(process.execPath, [program, folder, moment, text, steer], {
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal] = await happened(host, "exit");
  if (signal !== "SIGKILL") throw new Error("The host ended before it was killed.");
}

const hang: Step = { parts: [{ hang: true }] };

const bash = (command: string): Step => ({
  parts: [{ text: "I try" }, { call: { name: "bash", input: { command } } }],
});

function hasNote({ body }: ReceivedRequest): boolean {
  return JSON.stringify(body).includes("ended in the middle of this turn");
}

/** What the model was asked last, message by message. */
function lastAsked(rig: Rig): string[] {
  return rig.provider.requests.at(-1)?.messages.map(({ text }) => text) ?? [];
}

function notesIn({ messages }: ReceivedRequest): number {
  return messages.filter(({ text }) => text.includes("ended in the middle of this turn")).length;
}

test("[PI13] a prompt that pi never read is sent again, once", async () => {
  const { rig, settlement } = await afterKill({
    at: "before pi reads the prompt",
    script: ["done"],
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(rig.provider.requests).toHaveLength(1);
  expect(lastAsked(rig)).toEqual(["go"]);
});

test("[PI13] a host that was killed before anything was sent leaves a prompt that is sent once", async () => {
  for (const at of ["before pi says who it is", "before pi is told its prompt's place"]) {
    const { rig, settlement } = await afterKill({ at, script: ["done"] });
    expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
    expect(rig.provider.requests).toHaveLength(1);
    expect(lastAsked(rig)).toEqual(["go"]);
    expect(await rig.data("harness.process")).toHaveLength(2);
  }
});

test("[PI13] a host that was killed between pi's last word and the settlement settles with that word", async () => {
  const { rig, settlement } = await afterKill({
    at: "when pi is asked what it used",
    script: ["done"],
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(settlement.usage).toMatchObject({ input: 10 });
  expect(rig.provider.requests).toHaveLength(1);
});

test("[PI13] a host that was killed while pi waited to try again goes on with a note", async () => {
  const { rig, settlement } = await afterKill({
    at: "when pi tries again",
    settings: { retry: { baseDelayMs: 60_000 } },
    script: (request) => (hasNote(request) ? "done" : { refuse: "overloaded" }),
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(lastAsked(rig).join("\n").match(/^go$/gm)).toHaveLength(1);
});

test("[PI13] a host that was killed while it recovered recovers again, and says nothing twice", async () => {
  const { rig, settlement } = await afterKill({
    at: ["when a call has begun", "when pi has read the note"],
    steer: "and this",
    script: (request) => {
      if (!hasNote(request)) return bash("echo on; sleep 300");
      return notesIn(request) === 1 ? hang : "done";
    },
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done", toolCalls: 1 });
  const asked = lastAsked(rig).join("\n");
  expect(asked.match(/^go$/gm)).toHaveLength(1);
  expect(asked.match(/^and this$/gm)).toHaveLength(1);
  expect(await rig.data("message.tool")).toHaveLength(1);
});

test("[PI17] a compaction that was done when its host died is recorded, and not made again", async () => {
  const words = "word ".repeat(2_000);
  const { rig, settlement } = await afterKill({
    at: "when pi has compacted",
    text: "/compact",
    script: [words, words, "the summary of it all", "and of its turn", "three"],
    settings: { compaction: { keepRecentTokens: 1_000, reserveTokens: 2_000 } },
  });
  const summary = expect.stringContaining("the summary of it all") as unknown;
  expect(settlement).toMatchObject({ terminal: "completed", answer: summary });
  expect(await rig.data("compaction")).toMatchObject([{ automatic: false, summary }]);
  expect(settlement.usage).toMatchObject({ input: 20 });
  expect(await rig.prompt("3")).toMatchObject({ terminal: "completed", answer: "three" });
  expect(rig.provider.requests).toHaveLength(5);
});

test("[PI13] a prompt that was read and not answered goes on with a note, and is not sent again", async () => {
  const { rig, settlement } = await afterKill({
    at: "when pi has read the prompt",
    script: (request) => (hasNote(request) ? "done" : hang),
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  const asked = lastAsked(rig).join("\n");
  expect(asked.match(/^go$/gm)).toHaveLength(1);
  expect(asked).toContain("ended in the middle of this turn");
  expect((await rig.data("message.user")).map(({ text }) => text)).toEqual(["go"]);
});

test("[PI13] an answer that the host never saw is the answer: the model is not asked again", async () => {
  const { rig, settlement } = await afterKill({ at: "when pi has answered", script: ["done"] });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(settlement.usage).toMatchObject({ input: 10, output: 5 });
  expect(rig.provider.requests).toHaveLength(1);
  expect(await rig.data("message.assistant")).toHaveLength(1);
});

const broken: Step = { parts: [{ thinking: "hm" }, { breaks: "overloaded" }] };

test("[PI12] what pi used before its host died is counted with its run, also what stands in no message", async () => {
  const { rig, settlement } = await afterKill({
    at: "when pi has answered",
    script: [broken, "done", "next"],
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(rig.provider.requests).toHaveLength(2);
  expect(settlement.usage).toMatchObject({ input: 20 });
  expect((await rig.prompt("on")).usage).toMatchObject({ input: 10 });
});

test("[PI12] a turn that goes on after its host's death costs what both of its processes used", async () => {
  const { settlement } = await afterKill({
    at: "when a call has begun",
    script: (request) => {
      if (request.number === 1) return broken;
      if (!hasNote(request)) return bash("sleep 300");
      return request.number === 3 ? broken : "done";
    },
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(settlement.usage).toMatchObject({ input: 40 });
});

test("[PI13] a call in hand is ended with its group, and its outcome is said to be unknown", async () => {
  const { rig, settlement } = await afterKill({
    at: "when a call has begun",
    script: (request) => (hasNote(request) ? "done" : bash("echo started; sleep 300")),
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done" });
  expect(await rig.data("message.tool")).toMatchObject([{ name: "bash", isError: true }]);
  expect(lastAsked(rig).join("\n")).toContain(
    'unknown; check before you repeat them: bash {"command":"echo started; sleep 300"}',
  );
});

test("[PI13] a result that pi wrote down and the host never saw is the call's outcome", async () => {
  const { rig, settlement } = await afterKill({
    at: "when a call is done",
    script: (request) => {
      if (hasNote(request)) return "done";
      // It ends once the host has the call's intent.
      if (request.number === 1) return bash("until [ -e seen ]; do sleep 0.05; done; echo result");
      return hang;
    },
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "done", toolCalls: 1 });
  expect(await rig.data("message.assistant")).toHaveLength(2);
  expect(await rig.data("message.tool")).toMatchObject([
    { isError: false, content: [{ text: "result\n" }] },
  ]);
  expect(lastAsked(rig).join("\n")).not.toContain("unknown; check");
});

test("[PI13] a steer that pi never read is sent when the turn goes on", async () => {
  const { rig, settlement } = await afterKill({
    at: "before pi reads a steer",
    steer: "and this",
    script: (request) => (hasNote(request) ? "done" : bash("sleep 300")),
  });
  expect(settlement).toMatchObject({ terminal: "completed" });
  const asked = lastAsked(rig).join("\n");
  expect(asked.match(/^and this$/gm)).toHaveLength(1);
  expect(asked.match(/^go$/gm)).toHaveLength(1);
});

test("[PI13] an expanded template that was read is not sent again", async () => {
  const { rig, settlement } = await afterKill({
    at: "when pi has answered",
    text: "/greet Ann",
    files: { "prompts/greet.md": "---\ndescription: greets\n---\nGreet $1 warmly." },
    script: ["hello"],
  });
  expect(settlement).toMatchObject({ terminal: "completed", answer: "hello" });
  expect(rig.provider.requests).toHaveLength(1);
});

/** It leaves a trace each time. */
const once = `import { appendFileSync } from "node:fs";
export default (pi) => pi.registerCommand("once", { handler: async () => appendFileSync("ran", "x") });`;

test("[PI13] a command of an extension that may have run is not run again, and the settlement says so", async () => {
  const { rig, settlement } = await afterKill({
    at: "when a command is done",
    text: "/once",
    extension: once,
  });
  expect(settlement).toMatchObject({
    terminal: "outcome_unknown",
    diagnostic: expect.stringContaining("/once"),
  });
  expect(await readFile(join(rig.dir, "ran"), "utf8")).toBe("x");
});

test("[PI13] a command that steered and may have run is not run again, whatever the turn comes to", async () => {
  const { rig, settlement } = await afterKill({
    at: "when a command is done",
    steer: "/once",
    script: (request) => (hasNote(request) ? "done" : bash("sleep 300")),
    extension: once,
  });
  expect(settlement).toMatchObject({
    terminal: "outcome_unknown",
    diagnostic: expect.stringContaining("/once"),
  });
  expect(await rig.data("message.assistant")).toMatchObject([{}, { content: [{ text: "done" }] }]);
  expect(await readFile(join(rig.dir, "ran"), "utf8")).toBe("x");
});

test("[PI13] a question of a dead process is not open any more, and its answer reached nobody", async () => {
  const { rig, settlement } = await afterKill({
    at: "when a dialog is answered",
    text: "/ask",
    extension: `export default (pi) => pi.registerCommand("ask", { handler: (args, ctx) => ctx.ui.confirm("Sure?", "") });`,
  });
  expect(settlement).toMatchObject({ terminal: "outcome_unknown" });
  expect((await rig.session.read()).approvals).toEqual([]);
});

test("[PI13] a run that was stopped with its host goes on at the next one", async () => {
  const rig = await startRig({
    command: [pi],
    script: (request) =>
      hasNote(request) ? "done" : { parts: [{ text: "half" }, { hang: true }] },
  });
  onTestFinished(() => rig.close());
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await rig.provider.request(1);
  await rig.reopen();
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "done" });
  expect(lastAsked(rig).join("\n").match(/^go$/gm)).toHaveLength(1);
});
