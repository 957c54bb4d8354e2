// Dialogs of pi's extensions, as questions to a person; commands of extensions; what extensions do by themselves.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilAsked } from "./rig.ts";

const extension = `export default function (pi) {
  const command = (name, handler) => pi.registerCommand(name, { handler });
  command("ask", async (args, ctx) => {
    const picked = await ctx.ui.select("Which one?", ["left", "right"]);
    const sure = await ctx.ui.confirm("Sure?", "It cannot be undone.");
    const words = await ctx.ui.input("Why?", "a reason");
    pi.appendEntry("asked", { picked, sure, words });
    ctx.ui.notify(JSON.stringify({ picked, sure, words }));
  });
  command("hurry", async (args, ctx) => {
    const picked = await ctx.ui.select("Quick?", ["yes", "no"], { timeout: 400 });
    pi.sendUserMessage("picked " + picked);
  });
  command("boom", async () => { throw new Error("it went wrong"); });
  command("quiet", async () => {});
  command("work", async (args) => { pi.sendUserMessage("work on " + args); });
  command("beat", async (args) => {
    setTimeout(() => pi.sendMessage(
      { customType: "heartbeat", content: "beat " + args, display: args !== "hidden" },
      { triggerTurn: true },
    ), 300);
  });
  command("note", async (args) => {
    setTimeout(() => pi.sendMessage({ customType: "heartbeat", content: "note " + args, display: args !== "hidden" }), 300);
  });
  command("later", async (args, ctx) => {
    setTimeout(() => ctx.ui.confirm("Later?", args).then((sure) => pi.sendUserMessage("later " + sure)), 300);
  });
}`;

async function rigFor(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig({ extension, ...options });
  onTestFinished(() => rig.close());
  return rig;
}

test("[PI9] dialogs of an extension are questions, and pi gets the answers", async () => {
  const rig = await rigFor();
  const commandId = await rig.send({ type: "prompt", text: "/ask" });
  const select = await untilAsked(rig);
  expect(select).toMatchObject({
    kind: "question",
    questions: [
      { question: "Which one?", header: "pi", options: [{ label: "left" }, { label: "right" }] },
    ],
  });
  const answer = async (answers: Record<string, string>) => {
    const { approvalId } = await untilAsked(rig);
    await rig.send({ type: "answer", approvalId, allow: true, answers });
  };
  await answer({ "Which one?": "right" });
  await answer({ "Sure?\nIt cannot be undone.": "Yes" });
  await answer({ "Why?\n(a reason)": "because" });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "" });
  const asked = await rig.data("approval.asked");
  expect(asked.map(({ prompt }) => prompt)).toEqual(asked.map(() => expect.stringMatching(/^ui-/)));
  // What the extension got stands in pi's own transcript once there is one.
  rig.provider.push("ok");
  await rig.prompt("write it down");
  const { readFile } = await import("node:fs/promises");
  const [{ file = "" } = {}] = await rig.data("harness.conversation");
  expect(await readFile(file, "utf8")).toContain(
    '{"picked":"right","sure":true,"words":"because"}',
  );
});

test("[PI9] a dialog that pi gives up by its own time is withdrawn, and cannot be answered any more", async () => {
  const rig = await rigFor({ script: ["thanks"] });
  const commandId = await rig.send({ type: "prompt", text: "/hurry" });
  const { approvalId } = await untilAsked(rig);
  const withdrawn = await rig.until(({ kind }) => kind === "approval.withdrawn");
  expect(withdrawn.data).toMatchObject({ approvalId, reason: expect.stringContaining("time") });
  const late = { type: "answer", requestId: "late", approvalId, allow: true } as const;
  expect(await rig.session.send(late)).toMatchObject({ status: "too_late" });
  await rig.settled(commandId);
  await rig.until(
    ({ kind, data }) => kind === "message.assistant" && JSON.stringify(data).includes("thanks"),
  );
  expect(rig.provider.requests[0]?.messages.at(-1)?.text).toBe("picked undefined");
});

const gate = `export default (pi) => pi.on("tool_call", async ({ toolName, input }, ctx) => {
  if (toolName !== "bash") return;
  const sure = await ctx.ui.confirm("May it run?", input.command);
  if (!sure) return { block: true, reason: "a person said no" };
});`;

test("[PI9] a tool that an extension asks about runs where a person allows it, and neither where they deny nor where the turn is stopped", async () => {
  const rig = await rigFor({
    extension: gate,
    script: ({ messages }) => {
      const text = messages.findLast(
        ({ role, results }) => role === "user" && results.length === 0,
      );
      const hasResult = (messages.at(-1)?.results.length ?? 0) > 0;
      if (hasResult || text?.text === "on") return `answer to ${text?.text}`;
      return { parts: [{ call: { name: "bash", input: { command: `touch ${text?.text}` } } }] };
    },
  });
  const ask = async (text: string): Promise<{ commandId: string; approvalId: string }> => {
    const commandId = await rig.send({ type: "prompt", text });
    const { approvalId, questions } = await untilAsked(rig);
    expect(questions).toMatchObject([{ question: expect.stringMatching(/^May it run\?\ntouch/) }]);
    return { commandId, approvalId };
  };
  const first = await ask("allowed");
  expect(existsSync(join(rig.dir, "allowed"))).toBe(false);
  await rig.send({ type: "answer", approvalId: first.approvalId, allow: true });
  expect(await rig.settled(first.commandId)).toMatchObject({ answer: "answer to allowed" });
  const second = await ask("denied");
  await rig.send({ type: "answer", approvalId: second.approvalId, allow: false });
  expect(await rig.settled(second.commandId)).toMatchObject({ answer: "answer to denied" });
  const third = await ask("withdrawn");
  await rig.send({ type: "cancel", commandId: third.commandId });
  expect(await rig.settled(third.commandId)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.prompt("on")).toMatchObject({
    terminal: "completed",
    answer: "answer to on",
  });
  const made = ["allowed", "denied", "withdrawn"].filter((it) => existsSync(join(rig.dir, it)));
  expect(made).toEqual(["allowed"]);
  const [, denied] = await rig.data("message.tool");
  expect(denied).toMatchObject({ isError: true, content: [{ text: "a person said no" }] });
  expect((await rig.session.read()).approvals).toEqual([]);
});

test("[PI9] a stopped turn is stopped before its question is taken back: nothing runs that only waited for it", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => pi.on("tool_call", async (event, ctx) => {
      const picked = await ctx.ui.select("Is there anything against it?", ["yes"]);
      if (picked === "yes") return { block: true };
    });`,
    script: ({ messages }) =>
      messages.at(-1)?.text === "on"
        ? "on"
        : { parts: [{ call: { name: "bash", input: { command: "touch run" } } }] },
  });
  for (let time = 1; time <= 6; time++) {
    const commandId = await rig.send({ type: "prompt", text: "go" });
    await untilAsked(rig);
    await rig.send({ type: "cancel", commandId });
    expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
    expect(await rig.prompt("on")).toMatchObject({ terminal: "completed", answer: "on" });
    expect(existsSync(join(rig.dir, "run"))).toBe(false);
    expect(rig.provider.requests).toHaveLength(2 * time);
  }
});

test("[PI9] a declined dialog is cancelled in pi; a stopped turn leaves no question", async () => {
  const rig = await rigFor({ script: ["thanks"] });
  const commandId = await rig.send({ type: "prompt", text: "/ask" });
  const first = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId: first.approvalId, allow: false });
  await rig.until(({ kind }) => kind === "approval.answered");
  const second = await untilAsked(rig);
  expect(second.questions).toMatchObject([{ question: "Sure?\nIt cannot be undone." }]);
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect((await rig.session.read()).approvals).toEqual([]);
  expect(await rig.prompt("go on")).toMatchObject({ terminal: "completed", answer: "thanks" });
});

test("[PI18] a command of an extension ends its run, also one that asks no model; one that throws fails with its words", async () => {
  const rig = await rigFor({ script: ["worked"] });
  expect(await rig.prompt("/quiet")).toMatchObject({ terminal: "completed", answer: "" });
  expect(await rig.prompt("/boom")).toMatchObject({
    terminal: "failed",
    diagnostic: "the extension's command failed: it went wrong",
  });
  const commandId = await rig.send({ type: "prompt", text: "/work it" });
  await rig.until(
    ({ kind, data }) => kind === "message.assistant" && JSON.stringify(data).includes("worked"),
  );
  await rig.settled(commandId);
  const { info } = await rig.session.read().then((it) => ({ info: it.session }));
  expect(info.state === "idle" || info.state === "running").toBe(true);
});

test("[PI10] a turn that an extension begins by itself is a run of its own, named after who spoke", async () => {
  const rig = await rigFor({ script: ["ticked"] });
  await rig.prompt("/beat one");
  const queued = await rig.until(
    ({ kind, data }) => kind === "command.queued" && JSON.stringify(data).includes("outside"),
  );
  expect(queued.data).toMatchObject({ type: "outside", source: "heartbeat", text: "beat one" });
  expect(await rig.settled(queued.commandId ?? "")).toMatchObject({
    terminal: "completed",
    answer: "ticked",
  });
  expect((await rig.data("message.user")).map(({ text }) => text)).toEqual([
    "/beat one",
    "beat one",
  ]);
  expect(
    (await rig.lines()).filter(({ message }) => JSON.stringify(message ?? "").includes("beat one")),
  ).toEqual([]);
});

test("[PI10] what an extension hides is not shown; what it only says is a run without an answer", async () => {
  const rig = await rigFor({ script: ["ticked"] });
  await rig.prompt("/beat hidden");
  const queued = await rig.until(
    ({ kind, data }) => kind === "command.queued" && JSON.stringify(data).includes("outside"),
  );
  expect(queued.data).toMatchObject({ type: "outside", source: "heartbeat", text: "" });
  expect(await rig.settled(queued.commandId ?? "")).toMatchObject({ answer: "ticked" });
  await rig.prompt("/note hidden");
  await rig.prompt("/note this");
  const said = await rig.until(
    ({ kind, data }) =>
      kind === "command.queued" &&
      JSON.stringify(data).includes("note this") &&
      JSON.stringify(data).includes("outside"),
  );
  expect(await rig.settled(said.commandId ?? "")).toMatchObject({
    terminal: "completed",
    answer: "",
  });
  const shown = JSON.stringify(await rig.entries());
  expect(shown).not.toContain('"beat hidden');
  expect(shown).not.toContain('"note hidden');
});

test("[PI10] a dialog that an extension opens by itself is asked in a run of its own", async () => {
  const rig = await rigFor({ script: ["heard"] });
  await rig.prompt("/later soon");
  const { approvalId, questions } = await untilAsked(rig);
  expect(questions).toMatchObject([{ question: "Later?\nsoon" }]);
  await rig.send({
    type: "answer",
    approvalId,
    allow: true,
    answers: { "Later?\nsoon": "Yes" },
  });
  await rig.until(
    ({ kind, data }) => kind === "message.assistant" && JSON.stringify(data).includes("heard"),
  );
  expect(rig.provider.requests[0]?.messages.at(-1)?.text).toBe("later true");
});
