import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ReceivedRequest } from "../../src/testing/index.ts";
import { until } from "../../../runtime/test/clock.ts";
import { bash, Rig } from "./rig.ts";

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const has = (name: string) => existsSync(join(rig?.dir ?? "", name));

test("[CC10] a tool runs once it is allowed, with the input as a person edited it", async () => {
  rig = await Rig.start({ script: [{ parts: [bash("touch asked.txt")] }, "Done."] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const approval = await rig.untilAsked();
  expect(approval).toMatchObject({ kind: "tool", tool: "Bash", description: "A test" });
  const [asked] = await rig.data("approval.asked");
  const lines = await rig.data("harness.line");
  expect(JSON.stringify(lines)).toContain(`"request_id":"${asked?.prompt}"`);
  expect(has("asked.txt")).toBe(false);
  await rig.answer(approval, { allow: true, input: { command: "touch edited.txt" } });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "Done." });
  expect([has("asked.txt"), has("edited.txt")]).toEqual([false, true]);
  const kinds = (await rig.entries()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("call") || kind === "message.tool")).toEqual([
    "call.started",
    "message.tool",
  ]);
  const [started] = await rig.data("call.started");
  expect(started).toMatchObject({ name: "Bash", label: "write" });
  expect(rig.reported).toEqual([]);
});

test("[CC10] a tool that is denied does not run, and Claude Code reads why", async () => {
  rig = await Rig.start({ script: [{ parts: [bash("touch denied.txt")] }, "I see."] });
  const command = await rig.send({ type: "prompt", text: "go" });
  await rig.answer(await rig.untilAsked(), { allow: false, message: "Not in this folder." });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "I see." });
  expect(has("denied.txt")).toBe(false);
  const [outcome] = await rig.data("message.tool");
  expect(outcome).toMatchObject({
    isError: true,
    content: [{ type: "text", text: "Not in this folder." }],
  });
});

test("[CC37] a denial that stops the turn ends it: the tool does not run, and the model is not asked again", async () => {
  rig = await Rig.start({ script: [{ parts: [bash("touch denied.txt")] }, "Still here."] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const answer = { allow: false, message: "Stop at once.", interrupt: true };
  await rig.answer(await rig.untilAsked(), answer);
  expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.data("approval.answered")).toMatchObject([answer]);
  expect(rig.provider.requests.length).toBe(1);
  expect(has("denied.txt")).toBe(false);
  // The process goes on in the same conversation, in which the model reads that it is to wait.
  expect(await rig.prompt("and now?")).toMatchObject({ answer: "Still here." });
  const results = rig.provider.requests.at(-1)?.messages.flatMap((message) => message.results);
  expect(results).toMatchObject([{ isError: true, text: expect.stringContaining("STOP") }]);
  expect((await rig.data("harness.process")).length).toBe(1);
  expect(rig.reported).toEqual([]);
});

/** A sub-agent in the background that makes a file, and the turn above it, which does not wait for it. */
const inBackground = (request: ReceivedRequest) => {
  const texts = request.messages.map(({ text }) => text).join("\n");
  const hasResult = request.messages.some(({ results }) => results.length > 0);
  const last = request.messages.findLast(({ role }) => role === "user");
  if (texts.includes("work below") && !texts.includes("go on above"))
    return hasResult ? "From below." : { parts: [bash("touch below.txt")] };
  if (last?.text.includes("task-notification")) return "It came back.";
  if (hasResult) return "Begun.";
  const input = { description: "sub", prompt: "work below", subagent_type: "general-purpose" };
  return { parts: [{ call: { name: "Task", input: { ...input, run_in_background: true } } }] };
};

test("[CC34] what a sub-agent in the background asks can be answered after the turn that began it", async () => {
  rig = await Rig.start({ script: inBackground });
  const first = await rig.prompt("go on above");
  expect(first).toMatchObject({ terminal: "completed", answer: "Begun." });
  const queued = await rig.untilEntry(({ data }) => data["type"] === "outside");
  await rig.untilEntry(
    ({ kind, commandId }) => kind === "approval.asked" && commandId === queued.commandId,
  );
  const approval = await rig.untilAsked();
  expect(approval).toMatchObject({ tool: "Bash", input: { command: "touch below.txt" } });
  await rig.answer(approval, { allow: true });
  const settled = await rig.settled(queued.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "It came back." });
  expect(has("below.txt")).toBe(true);
  expect(await rig.data("approval.answered")).toMatchObject([{ allow: true }]);
  expect(rig.reported).toEqual([]);
});

test("[CC34] stopped while only its sub-agent waits for a person, it lives on", async () => {
  rig = await Rig.start({ script: inBackground });
  await rig.prompt("go on above");
  const queued = await rig.untilEntry(({ data }) => data["type"] === "outside");
  await rig.untilEntry(
    ({ kind, commandId }) => kind === "approval.asked" && commandId === queued.commandId,
  );
  const approval = await rig.untilAsked();
  await rig.answer(approval, { allow: false, interrupt: true });
  expect(await rig.settled(queued.commandId ?? "")).toMatchObject({ terminal: "cancelled" });
  expect(has("below.txt")).toBe(false);
  expect((await rig.session.read()).approvals).toEqual([]);
  expect((await rig.data("harness.stopped")).length).toBe(0);
});

test("[CC42] a follow-up does not wait for what only a sub-agent in the background asks, which is asked on", async () => {
  rig = await Rig.start({
    script: (request) => {
      const last = request.messages.findLast(({ role }) => role === "user");
      return last?.text.includes("something else") ? "Something else." : inBackground(request);
    },
  });
  await rig.prompt("go on above");
  const queued = await rig.untilEntry(({ data }) => data["type"] === "outside");
  const asked = await rig.untilEntry(
    ({ kind, commandId }) => kind === "approval.asked" && commandId === queued.commandId,
  );
  const settled = await rig.prompt("something else");
  expect(settled).toMatchObject({ terminal: "completed", answer: "Something else." });
  const [former] = await rig.data("approval.withdrawn");
  expect(former?.approvalId).toBeDefined();
  await rig.untilEntry(
    ({ kind, data, seq }) =>
      kind === "command.queued" && data["type"] === "outside" && seq > asked.seq,
  );
  await rig.answer(await rig.untilAsked(), { allow: true });
  await until(() => has("below.txt"), "the file");
  expect(rig.reported).toEqual([]);
});

test("[CC12] what is always allowed is shown with rule and scope, and not asked about again", async () => {
  rig = await Rig.start({
    script: [
      { parts: [bash("touch one.txt")] },
      { parts: [bash("touch one.txt")] },
      { parts: [bash("touch two.txt")] },
      "Done.",
    ],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  const approval = await rig.untilAsked();
  expect(approval.suggestions).toMatchObject([
    {
      type: "addRules",
      behavior: "allow",
      destination: "session",
      title: expect.stringMatching(/^Bash\(touch one\.txt.*\), until its process ends$/),
    },
    { type: "addDirectories", destination: "session" },
  ]);
  await rig.answer(approval, { allow: true, always: true });
  // The second call is the same: the next question is about the third.
  const next = await rig.untilEntry(
    ({ kind, data }) => kind === "approval.asked" && JSON.stringify(data).includes("two.txt"),
  );
  expect(has("one.txt")).toBe(true);
  const asked = await rig.data("approval.asked");
  expect(asked.length).toBe(2);
  const second = await rig.untilAsked();
  expect(second.approvalId).toBe(next.data["approvalId"]);
  await rig.answer(second, { allow: true });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed" });
});

test("[CC13] a question is answered with answers, and goes on waiting where none was given", async () => {
  const questions = [
    {
      question: "Which one?",
      header: "Pick",
      multiSelect: false,
      options: [
        { label: "A", description: "the first" },
        { label: "B", description: "the second" },
      ],
    },
  ];
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: [{ parts: [{ call: { name: "AskUserQuestion", input: { questions } } }] }, "B it is."],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  // Auto-approve allows tools, and answers no question.
  const approval = await rig.untilAsked();
  expect(approval).toMatchObject({ kind: "question", questions });
  await expect(rig.answer(approval, { allow: true })).rejects.toThrow('"Which one?"');
  const nonsense = { allow: true, answers: { "Nonsense?": "B" } };
  await expect(rig.answer(approval, nonsense)).rejects.toThrow('"Which one?"');
  expect(await rig.untilAsked()).toEqual(approval);
  await rig.answer(approval, { allow: true, answers: { "Which one?": "B" } });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "B it is." });
  const [outcome] = await rig.data("message.tool");
  expect(JSON.stringify(outcome?.content)).toContain('\\"Which one?\\"=\\"B\\"');
});

test("[CC14] a cancelled turn stops while a person is waited for, whose answer then comes too late", async () => {
  rig = await Rig.start({ script: [{ parts: [bash("touch late.txt")] }] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const approval = await rig.untilAsked();
  await rig.send({ type: "cancel", commandId: command });
  expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
  const receipt = await rig.session.send({
    ...{ type: "answer", requestId: "late", approvalId: approval.approvalId, allow: true },
  });
  expect(receipt.status).toBe("too_late");
  expect(has("late.txt")).toBe(false);
  // The process goes on in the same conversation.
  rig.provider.push("Still here.");
  expect(await rig.prompt("and now?")).toMatchObject({ answer: "Still here." });
  expect((await rig.data("harness.process")).length).toBe(1);
});

test("[CC14] what a hook of Claude Code's own decides while a person is asked is withdrawn, and runs", async () => {
  rig = await Rig.start({ script: [{ parts: [bash("touch hooked.txt")] }, "Done."] });
  const decision = {
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } },
  };
  const wait = `until [ -e ${join(rig.dir, "asked")} ]; do sleep 0.05; done`;
  const command = `${wait}; echo '${JSON.stringify(decision)}'`;
  const hooks = { PermissionRequest: [{ hooks: [{ type: "command", command }] }] };
  const config = join(rig.folder, "home/.claude");
  await mkdir(config, { recursive: true });
  await writeFile(join(config, "settings.json"), JSON.stringify({ hooks }));
  const id = await rig.send({ type: "prompt", text: "go" });
  const approval = await rig.untilAsked();
  await writeFile(join(rig.dir, "asked"), "");
  expect(await rig.settled(id)).toMatchObject({ terminal: "completed", answer: "Done." });
  expect(has("hooked.txt")).toBe(true);
  const { approvalId } = approval;
  expect(await rig.data("approval.withdrawn")).toMatchObject([
    { approvalId, reason: "Claude Code withdrew it" },
  ]);
  const late = await rig.session.send({
    ...{ type: "answer", requestId: "late", approvalId, allow: false },
  });
  expect(late.status).toBe("too_late");
  expect(await rig.data("call.started")).toMatchObject([{ name: "Bash" }]);
});

test("[CC15] auto-approve counts as soon as it is switched, in both directions", async () => {
  rig = await Rig.start({
    script: [
      { parts: [bash("touch 1.txt")] },
      { parts: [bash("touch 2.txt")] },
      "Done.",
      { parts: [bash("touch 3.txt")] },
      "Done again.",
    ],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  await rig.untilAsked();
  rig.settings = { ...rig.settings, autoApprove: true };
  await rig.engine.settingsChanged();
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "Done." });
  expect([has("1.txt"), has("2.txt")]).toEqual([true, true]);
  const [withdrawn] = await rig.data("approval.withdrawn");
  expect(withdrawn?.reason).toBe("auto-approve was switched on");
  // Both stand in the log as auto-approve's: the one that waited, and the next, about which nobody was asked.
  const lines = (await rig.data("harness.line")).map(({ line }) => line);
  const approved = lines.filter((line) => JSON.stringify(line).includes('"by":"auto-approve"'));
  expect(approved).toMatchObject(
    [1, 2].map(() => ({ response: { response: { behavior: "allow" } } })),
  );
  rig.settings = { ...rig.settings, autoApprove: false };
  await rig.engine.settingsChanged();
  const next = await rig.send({ type: "prompt", text: "more" });
  await rig.answer(await rig.untilAsked(), { allow: true });
  expect(await rig.settled(next)).toMatchObject({ answer: "Done again." });
});

test("[CC15] a process that was started to skip permissions asks for them once auto-approve is off", async () => {
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: [
      { parts: [bash("touch 1.txt")] },
      "Done.",
      { parts: [bash("touch 2.txt")] },
      "Asked.",
      { parts: [bash("touch 3.txt")] },
      "Skipped.",
    ],
  });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "Done." });
  expect((await rig.data("approval.asked")).length).toBe(0);
  rig.settings = { ...rig.settings, autoApprove: false };
  await rig.engine.settingsChanged();
  const command = await rig.send({ type: "prompt", text: "more" });
  await rig.answer(await rig.untilAsked(), { allow: true });
  expect(await rig.settled(command)).toMatchObject({ answer: "Asked." });
  rig.settings = { ...rig.settings, autoApprove: true };
  await rig.engine.settingsChanged();
  expect(await rig.prompt("and more")).toMatchObject({ answer: "Skipped." });
  expect((await rig.data("approval.asked")).length).toBe(1);
  expect((await rig.data("harness.process")).length).toBe(1);
});
