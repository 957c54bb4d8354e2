import { afterEach, expect, test } from "vitest";
import { until } from "../../../runtime/test/clock.ts";
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

test("[AC3] a call has its message, its intent and its outcome, labelled by its kind", async () => {
  const rig = await start();
  expect(
    await rig.prompt(
      "say first",
      "tool read a file",
      "tool edit it",
      "fail execute tests",
      "say done",
    ),
  ).toMatchObject({ terminal: "completed", answer: "done", toolCalls: 3 });
  expect(await rig.data("call.started")).toMatchObject([
    { name: "a file", label: "read", replaySafe: false },
    { name: "it", label: "write" },
    { name: "tests", label: "write" },
  ]);
  expect(await rig.data("message.tool")).toMatchObject([
    {
      content: [{ type: "text", text: "did a file" }],
      isError: false,
      data: { kind: "read", title: "a file", locations: [{ path: "/a.txt", line: 3 }] },
    },
    {
      content: [
        { type: "text", text: "did it" },
        { type: "text", text: "Changed /a.txt." },
      ],
      data: { diffs: [{ path: "/a.txt", oldText: "old", newText: "new" }] },
    },
    { content: [{ type: "text", text: "it went wrong" }], isError: true },
  ]);
  const [first] = await rig.data("message.assistant");
  expect(first).toMatchObject({
    content: [
      { type: "text", text: "first" },
      { type: "call", index: 0, name: "a file", input: { what: "a file" } },
    ],
    stop: "calls",
  });
});

test("[AC3] what was called, begun and ended stands in that order, and each step's line once", async () => {
  const rig = await start();
  await rig.prompt("tool search words", "say done");
  const kinds = (await rig.entries()).map((entry) => entry.kind);
  const order = ["message.assistant", "call.started", "message.tool"];
  expect(kinds.filter((kind) => order.includes(kind))).toEqual([...order, "message.assistant"]);
  expect(await rig.updates()).toEqual([
    "tool_call",
    "tool_call_update",
    "tool_call_update",
    "agent_message_chunk",
  ]);
});

test("[AC4] a turn that ends on an open call is unknown where that may have changed something", async () => {
  const rig = await start();
  const written = await rig.prompt("open execute rm", "say done");
  expect(written.terminal).toBe("outcome_unknown");
  expect(written.diagnostic).toContain("what became of: rm");
  expect(await rig.data("message.tool")).toMatchObject([{ interrupted: true }]);
  const read = await rig.prompt("open read file", "say done");
  expect(read).toMatchObject({ terminal: "completed", answer: "done" });
  expect((await rig.data("message.tool"))[1]).toMatchObject({
    isError: true,
    content: [{ text: "The agent did not say what became of this call." }],
  });
});

test("[AC5] a permission is asked with what it is for and what would last, and given for this once", async () => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests");
  const approval = await rig.asked();
  expect(approval).toMatchObject({
    kind: "tool",
    tool: "tests",
    input: { what: "tests" },
    suggestions: [
      { optionId: "yes-always", name: "Always allow", kind: "allow_always" },
      { optionId: "no-always", name: "Always reject", kind: "reject_always" },
    ],
  });
  await rig.answer(approval.approvalId, { allow: true });
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "completed",
    answer: "did tests",
  });
  expect(await rig.noted("permission")).toEqual({ permission: "yes" });
  const order = ["approval.asked", "approval.answered", "call.started", "message.tool"];
  const kinds = (await rig.entries()).map((entry) => entry.kind);
  expect(kinds.filter((kind) => order.includes(kind))).toEqual(order);
});

test.each([
  ["always", { allow: true, always: true }, "yes-always", "completed"],
  ["no", { allow: false, message: "not now" }, "no", "completed"],
  ["never", { allow: false, always: true }, "no-always", "completed"],
])("[AC5] the answer %s selects the agent's own option", async (_, answer, option, terminal) => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests");
  await rig.answer((await rig.asked()).approvalId, answer);
  expect(await rig.settled(commandId)).toMatchObject({ terminal });
  expect(await rig.noted("permission")).toEqual({ permission: option });
  const started = await rig.data("call.started");
  expect(started).toHaveLength(answer.allow ? 1 : 0);
  expect(await rig.data("message.tool")).toMatchObject([{ isError: !answer.allow }]);
});

test("[AC5] an edited input is refused in words, and the permission still waits", async () => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests");
  const { approvalId } = await rig.asked();
  const edited = rig.answer(approvalId, { allow: true, input: { what: "else" } });
  await expect(edited).rejects.toMatchObject({ code: "invalid" });
  await rig.answer(approvalId, { allow: false });
  expect(await rig.settled(commandId)).toMatchObject({ answer: "left tests alone" });
});

test("[AC6] auto-approve gives a permission for this once, and says so", async () => {
  const rig = await start({ settings: { autoApprove: true } });
  expect(await rig.prompt("permit execute tests")).toMatchObject({ answer: "did tests" });
  expect(await rig.noted("permission")).toEqual({ permission: "yes" });
  expect(await rig.data("approval.asked")).toEqual([]);
  expect(JSON.stringify(await rig.data("harness.line"))).toContain('"by":"auto-approve"');
});

test("[AC6] auto-approve that is switched on gives what waits; switched off it asks again at once", async () => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests");
  await rig.asked();
  rig.settings = { ...rig.settings, autoApprove: true };
  await rig.engine.settingsChanged();
  expect(await rig.settled(commandId)).toMatchObject({ answer: "did tests" });
  expect(await rig.data("approval.withdrawn")).toMatchObject([
    { reason: "auto-approve was switched on" },
  ]);
  rig.settings = { ...rig.settings, autoApprove: false };
  const next = await rig.begin("permit execute more");
  await rig.answer((await rig.asked()).approvalId, { allow: false });
  expect(await rig.settled(next)).toMatchObject({ answer: "left more alone" });
});

test("[AC6] auto-approve answers neither a choice nor a form", async () => {
  const rig = await start({ settings: { autoApprove: true } });
  const choice = await rig.begin("choose Which colour?|red|blue");
  const asked = await rig.asked();
  expect(asked).toMatchObject({
    kind: "question",
    questions: [{ question: "Which colour?", options: [{ label: "red" }, { label: "blue" }] }],
  });
  await rig.engine.settingsChanged();
  await rig.answer(asked.approvalId, {
    allow: true,
    answers: { "Which colour?": "blue" },
  });
  expect(await rig.settled(choice)).toMatchObject({ answer: "o1" });

  const form = await rig.begin("elicit Who is it?");
  const questions = await rig.asked();
  expect(questions).toMatchObject({
    kind: "question",
    description: "Who is it?",
    questions: [
      { question: "Name" },
      { question: "Size", options: [{ label: "S" }, { label: "L" }] },
      { question: "Sure", options: [{ label: "Yes" }, { label: "No" }] },
    ],
  });
  await rig.answer(questions.approvalId, {
    allow: true,
    answers: { Name: "Ann", Size: "L", Sure: "Yes" },
  });
  expect(JSON.parse((await rig.settled(form)).answer)).toEqual({
    action: "accept",
    content: { name: "Ann", size: "L", sure: true },
  });
});

test("[AC7] a call whose input asks questions is asked as one, and its answers reach the agent", async () => {
  const rig = await start({ settings: { autoApprove: true } });
  const asking = await rig.begin("inquire Which size?|S|L");
  const asked = await rig.asked();
  expect(asked).toMatchObject({
    kind: "question",
    questions: [{ question: "Which size?", options: [{ label: "S" }, { label: "L" }] }],
  });
  await rig.answer(asked.approvalId, { allow: true, answers: { "Which size?": "L" } });
  expect(JSON.parse((await rig.settled(asking)).answer)).toEqual({
    outcome: { outcome: "selected", optionId: "submit" },
    answers: { 0: "L" },
  });
  const declined = await rig.begin("inquire Which size?|S|L");
  await rig.answer((await rig.asked()).approvalId, { allow: false });
  expect(JSON.parse((await rig.settled(declined)).answer)).toEqual({
    outcome: { outcome: "selected", optionId: "no" },
  });
});

test("[AC7] a form that a person declines is declined; one that is left without what it needs goes on waiting", async () => {
  const rig = await start();
  const form = await rig.begin("elicit Who is it?");
  const { approvalId } = await rig.asked();
  await expect(rig.answer(approvalId, { allow: true, answers: { Size: "S" } })).rejects.toThrow(
    'nothing answers "Name"',
  );
  expect((await rig.asked()).approvalId).toBe(approvalId);
  await rig.answer(approvalId, { allow: false });
  expect(JSON.parse((await rig.settled(form)).answer)).toEqual({ action: "decline" });
});

test("[AC8] a cancelled run cancels the turn and its permission, and the process stays", async () => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests", "hang");
  const { approvalId } = await rig.asked();
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.noted("permission")).toEqual({ permission: "cancelled" });
  expect(await rig.data("approval.withdrawn")).toMatchObject([{ approvalId }]);
  expect(await rig.answer(approvalId, { allow: true })).toBe("too_late");
  const { pid } = rig.engine.standing();
  expect(await rig.prompt("still here")).toMatchObject({ answer: "still here" });
  expect(rig.engine.standing().pid).toBe(pid);
});

test("[AC7] a choice that can be refused is a choice too: none of its ways is taken without a person", async () => {
  const rig = await start({ settings: { autoApprove: true } });
  const title = "Where to?";
  const chosen = await rig.begin(`choose ${title}|here|everywhere|!nowhere`);
  const asked = await rig.asked();
  expect(asked).toMatchObject({
    kind: "question",
    questions: [
      {
        question: title,
        options: [{ label: "here" }, { label: "everywhere" }, { label: "nowhere" }],
      },
    ],
  });
  await rig.answer(asked.approvalId, { allow: true, answers: { [title]: "everywhere" } });
  expect(await rig.settled(chosen)).toMatchObject({ answer: "o1" });
  const refused = await rig.begin(`choose ${title}|here|everywhere|!nowhere`);
  await rig.answer((await rig.asked()).approvalId, { allow: false });
  expect(await rig.settled(refused)).toMatchObject({ answer: "o2" });
});

/** The lines by which the agent asked, and whether each is shown to people. */
async function requests(rig: Rig): Promise<[method: unknown, isShown: boolean][]> {
  return (await rig.data("harness.line")).flatMap(({ line }) => {
    const { method, id, _meta: meta } = line as Record<string, unknown>;
    const { prompt } = (meta ?? {}) as Record<string, unknown>;
    const isRequest = id !== undefined && method !== undefined;
    return isRequest ? [[method, typeof prompt === "string"] as [unknown, boolean]] : [];
  });
}

test("[AC32] what nobody is asked is not shown as a question, and its line is kept", async () => {
  const rig = await start();
  const settlement = await rig.prompt("visit http://example.invalid/", "misask remove all");
  expect(settlement).toMatchObject({ terminal: "completed" });
  expect(settlement.answer).toContain("decline");
  expect(settlement.answer).toContain("Invalid params");
  expect(await requests(rig)).toEqual([
    ["elicitation/create", false],
    ["session/request_permission", false],
  ]);
  expect(await rig.data("approval.asked")).toEqual([]);
});

test("[AC32] a question is shown with what a person can answer, or with what auto-approve answered, never alone", async () => {
  const rig = await start();
  const commandId = await rig.begin("permit execute tests");
  await rig.answer((await rig.asked()).approvalId, { allow: true });
  await rig.settled(commandId);
  rig.settings = { ...rig.settings, autoApprove: true };
  await rig.prompt("permit execute more");
  expect(await requests(rig)).toEqual([
    ["session/request_permission", true],
    ["session/request_permission", true],
  ]);
  const entries = await rig.entries();
  const at = entries.findIndex(({ data }) => JSON.stringify(data).includes("request_permission"));
  expect(entries[at + 1]?.kind).toBe("approval.asked");
  rig.settings = { ...rig.settings, autoApprove: false };
  rig.refuseWrites("approval.asked");
  await rig.prompt("permit execute never");
  expect(await requests(rig)).toHaveLength(2);
});

test("[AC35] the lines of calls stand among those of what was said, in their order", async () => {
  const rig = await start();
  await rig.prompt("say first", "announce read a", "say second", "tool read b", "say third");
  const said = (await rig.data("harness.line")).flatMap(({ line }) => {
    const { params } = line as { params?: { update?: Record<string, unknown> } };
    const { sessionUpdate, content, title, status } = params?.update ?? {};
    if (sessionUpdate === "agent_message_chunk") return [(content as { text: string }).text];
    return sessionUpdate === "tool_call" ? [title] : status === undefined ? [] : [status];
  });
  expect(said).toEqual(["first", "a", "second", "b", "in_progress", "completed", "third"]);
  expect(await rig.data("message.assistant")).toMatchObject([
    { content: [{ text: "first" }, { text: "second" }, { type: "call", name: "b" }] },
    { content: [{ text: "third" }, { type: "call", name: "a" }] },
  ]);
});

test.each(["elicit Who is it?", "choose Which?|a|b"])(
  "[AC35] what was said before a question stands before it in the log: %s",
  async (question) => {
    const rig = await start();
    const commandId = await rig.begin("say I have a question.", question);
    await rig.answer((await rig.asked()).approvalId, { allow: false });
    await rig.settled(commandId);
    const kinds = (await rig.entries()).map(({ kind }) => kind);
    const said = kinds.indexOf("message.assistant");
    expect(said).toBeGreaterThan(0);
    expect(said).toBeLessThan(kinds.indexOf("approval.asked"));
    expect(await rig.updates()).toHaveLength(2);
  },
);

test("[AC30] an answer is for the one request that it was given to, also where the agent uses its id again", async () => {
  const rig = await start();
  const commandId = await rig.begin("forge 77 delete", "wait go", "forge 77 delete", "wait on");
  const first = await rig.asked();
  await rig.answer(first.approvalId, { allow: true });
  expect(await rig.noted("forged")).toMatchObject({ forged: { outcome: { optionId: "yes" } } });
  rig.release("go");
  await until(async () => (await rig.data("approval.asked")).length === 2, "the second question");
  const second = await rig.asked();
  expect(second.approvalId).not.toBe(first.approvalId);
  await rig.answer(second.approvalId, { allow: false });
  expect(await rig.noted("forged", 2)).toMatchObject({ forged: { outcome: { optionId: "no" } } });
  rig.release("on");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed" });
});

test("[AC30] a request under the id of one that waits is left out, and one answer answers one request", async () => {
  const rig = await start();
  const commandId = await rig.begin("forge 78 delete", "forge 78 delete", "wait on");
  const { approvalId } = await rig.asked();
  await rig.noted("waits");
  await rig.answer(approvalId, { allow: true });
  rig.release("on");
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed" });
  expect(await rig.data("approval.asked")).toHaveLength(1);
  expect(rig.reported.map(String)).toEqual([expect.stringContaining("asked twice under one id")]);
});
