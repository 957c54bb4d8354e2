import { afterEach, expect, test } from "vitest";
import type { AskedQuestion, Tool, ToolContext } from "../../src/index.ts";
import { killInMidRun } from "./kill.ts";
import { type Rig, type RigOptions, startRig, tool, untilAsked } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  open.push(rig);
  return rig;
}

const color: AskedQuestion = {
  question: "Which color?",
  header: "Color",
  options: [{ label: "Red", description: "like fire" }, { label: "Blue" }],
};
const sizes: AskedQuestion = {
  question: "Which sizes?",
  options: [{ label: "S" }, { label: "M" }, { label: "L" }],
  multiSelect: true,
};

type Work = (context: ToolContext) => unknown;

function asking(work: Work, given: Partial<Tool> = {}): Tool {
  return tool({ name: "choose", label: "read", execute: (_, context) => work(context), ...given });
}

/** A conversation whose first message calls `choose`, with the command that waits. */
async function waiting(
  work: Work,
  options: RigOptions & { readonly given?: Partial<Tool> } = {},
): Promise<{ rig: Rig; command: string }> {
  const rig = await start({
    tools: [asking(work, options.given)],
    script: [{ parts: [{ call: { name: "choose", input: {} } }] }, "thank you"],
    ...options,
  });
  return { rig, command: await rig.send({ type: "prompt", text: "go" }) };
}

async function resultOf(rig: Rig, command: string): Promise<unknown> {
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "thank you" });
  return JSON.parse(rig.provider.requests[1]?.results[0]?.text ?? "null");
}

/** The questions that wait once there are `count`. */
async function untilWaiting(rig: Rig, count: number) {
  for await (const frame of rig.session.watch()) {
    if (frame.type === "partial" || frame.type === "state") continue;
    const { approvals } = await rig.session.read();
    if (approvals.length >= count) return approvals;
  }
  throw new Error("The watch ended.");
}

test("[E69] a tool asks a person several questions at once and gets the answers by their texts", async () => {
  const { rig, command } = await waiting(({ ask }) =>
    ask([color, sizes, { question: "Anything else?" }], { description: "For the shirt." }),
  );
  const approval = await untilAsked(rig);
  expect(approval).toMatchObject({
    kind: "question",
    tool: "choose",
    description: "For the shirt.",
    questions: [color, sizes, { question: "Anything else?" }],
  });
  const answers = { "Which color?": "Blue", "Which sizes?": ["S", "L"] };
  const { approvalId } = approval;
  const more = { ...answers, "Never asked?": "no" };
  await expect(
    rig.send({ type: "answer", approvalId, allow: true, answers: more }),
  ).rejects.toThrow('"Never asked?" is none of the questions');
  await rig.send({ type: "answer", approvalId, allow: true, answers, message: "soon" });
  expect(await resultOf(rig, command)).toEqual({
    outcome: "answered",
    answers: { "Which color?": "Blue", "Which sizes?": "S, L" },
    message: "soon",
  });
});

test.each([
  ["blue", "Blue"],
  ["green, rather", "green, rather"],
])("[E69] the text %j alone answers a single question", async (message, answer) => {
  const { rig, command } = await waiting(({ ask }) => ask([color]));
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true, message });
  expect(await resultOf(rig, command)).toEqual({
    outcome: "answered",
    answers: { "Which color?": answer },
  });
});

test("[E69] a text alone to several questions is a message, and a plain yes answers none of them", async () => {
  const { rig, command } = await waiting(async ({ ask }) => [
    await ask([color, sizes]),
    await ask([color]),
  ]);
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true, message: "you choose" });
  const [second] = await untilWaiting(rig, 1);
  await rig.send({ type: "answer", approvalId: second!.approvalId, allow: true });
  expect(await resultOf(rig, command)).toEqual([
    { outcome: "answered", answers: {}, message: "you choose" },
    { outcome: "answered", answers: {} },
  ]);
});

test("[E69] a denial, and a question that nobody answers in time, are outcomes that the tool gets", async () => {
  const { rig, command } = await waiting(({ ask }) => ask([color]));
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: false, message: "not now" });
  expect(await resultOf(rig, command)).toEqual({ outcome: "denied", message: "not now" });
  const late = await waiting(({ ask }) => ask([color]), { approvalTtlMs: 1 });
  expect(await resultOf(late.rig, late.command)).toEqual({ outcome: "expired" });
});

test("[E69] two questions of one call wait side by side, and each gets its own answer", async () => {
  const { rig, command } = await waiting(({ ask }) =>
    Promise.all([ask([{ question: "Here?" }]), ask([{ question: "There?" }])]),
  );
  const [here, there] = await untilWaiting(rig, 2);
  for (const [approval, message] of [
    [there!, "second"],
    [here!, "first"],
  ] as const)
    await rig.send({ type: "answer", approvalId: approval.approvalId, allow: true, message });
  expect(await resultOf(rig, command)).toEqual([
    { outcome: "answered", answers: { "Here?": "first" } },
    { outcome: "answered", answers: { "There?": "second" } },
  ]);
});

const long = (length: number) => "x".repeat(length);
test.each<[string, unknown, unknown]>([
  ["questions is empty", [], {}],
  [
    "questions holds more than 8 questions",
    Array.from({ length: 9 }, (_, n) => ({ question: `${n}?` })),
    {},
  ],
  ["questions[0].question is empty", [{ question: "  " }], {}],
  ["questions[0].question has more than 2000 characters", [{ question: long(2_001) }], {}],
  ["questions[1].question is asked twice", [{ question: "a?" }, { question: "a?" }], {}],
  [
    "questions[0].options holds more than 12 options",
    [{ question: "a?", options: Array.from({ length: 13 }, (_, n) => ({ label: `${n}` })) }],
    {},
  ],
  [
    "questions[0].options[1].label is empty",
    [{ question: "a?", options: [{ label: "b" }, { label: "" }] }],
    {},
  ],
  [
    "questions[0].options[1].label is the label of an earlier option",
    [{ question: "a?", options: [{ label: "b" }, { label: "b" }] }],
    {},
  ],
  [
    'questions[0].options[0].label holds ", "',
    [{ question: "a?", options: [{ label: "b, c" }], multiSelect: true }],
    {},
  ],
  ["questions[0].multiSelect has no options", [{ question: "a?", multiSelect: true }], {}],
  ['questions[0] Unrecognized key: "multiselect"', [{ question: "a?", multiselect: true }], {}],
  ["description is empty", [{ question: "a?" }], { description: "" }],
])(
  "[E70] what is wrong with a question is told with its place, and nobody is asked: %s",
  async (reason, questions, options) => {
    const { rig, command } = await waiting(({ ask }) =>
      ask(questions as AskedQuestion[], options as { description?: string }),
    );
    await rig.settled(command);
    const [result] = rig.provider.requests[1]!.results;
    expect(result).toMatchObject({ isError: true });
    expect(result?.text).toContain(`ask: ${reason}`);
    expect(await rig.data("approval.asked")).toEqual([]);
  },
);

test("[E71] after a kill -9 while calls wait for a person a read call gets the answers it had and the ones that come, and a write call's question is withdrawn", async () => {
  const asked: string[] = [];
  const ask = async (_input: unknown, context: ToolContext) => {
    const first = await context.ask([{ question: "First?" }]);
    asked.push(JSON.stringify(first));
    return [first, await context.ask([{ question: "Second?" }])];
  };
  let written = 0;
  const rig = await start({
    tools: [
      tool({ name: "look", label: "read", execute: ask }),
      tool({ name: "write", execute: () => ++written }),
    ],
    script: [
      { parts: ["look", "write"].map((name) => ({ call: { name, input: {} } })) },
      "thank you",
    ],
    inherits: (store, url) => killInMidRun("killed-asker.ts", store, url),
  });
  const { running } = await rig.session.read();
  for await (const frame of rig.session.watch())
    if (frame.type === "entry" && frame.data.kind === "approval.withdrawn") break;
    else if ((await rig.data("approval.withdrawn")).length > 0) break;
  const { approvals } = await rig.session.read();
  expect(approvals).toMatchObject([{ questions: [{ question: "Second?" }] }]);
  await rig.send({
    type: "answer",
    approvalId: approvals[0]!.approvalId,
    allow: true,
    answers: { "Second?": "two" },
  });
  expect(await rig.settled(running!.commandId)).toMatchObject({ answer: "thank you" });
  const first = { outcome: "answered", answers: { "First?": "one" } };
  expect(asked).toEqual([JSON.stringify(first)]);
  expect(written).toBe(0);
  const [look, write] = rig.provider.requests[1]!.results;
  expect(JSON.parse(look!.text)).toEqual([
    first,
    { outcome: "answered", answers: { "Second?": "two" } },
  ]);
  expect(write!.text).toContain("effect is unknown");
  expect(await rig.data("approval.asked")).toHaveLength(3);
});

test("[E71] an answer is the call's also where its host stops right after it came", async () => {
  const { rig, command } = await waiting(({ ask }) => ask([color]));
  const { approvalId } = await untilAsked(rig);
  await rig.reopen();
  await rig.send({ type: "answer", approvalId, allow: true, message: "Red" });
  await rig.reopen();
  expect(await resultOf(rig, command)).toMatchObject({ answers: { "Which color?": "Red" } });
  expect(await rig.data("approval.asked")).toHaveLength(1);
});

test("[E72] a cancel withdraws what a call asks and stops its tool", async () => {
  const stopped: unknown[] = [];
  const { rig, command } = await waiting(async ({ ask, signal }) => {
    try {
      return await ask([color]);
    } catch (error) {
      stopped.push(signal.aborted);
      throw error;
    }
  });
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "cancel", commandId: command });
  expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
  expect(stopped).toEqual([true]);
  expect(await rig.data("approval.withdrawn")).toMatchObject([{ approvalId }]);
});

test("[E72] what a call still asks when it ends is withdrawn, and asking after that is refused", async () => {
  let after: Promise<unknown> | undefined;
  const { rig, command } = await waiting(async ({ ask }) => {
    const answered = ask([color]);
    after = answered
      .then((answers) => [answers, ask([color]).catch(String)])
      .then(async ([answers, refused]) => [answers, await refused]);
    await Promise.race([answered, untilRecorded()]);
    return "went on";
  });
  const untilRecorded = async () => {
    await untilAsked(rig);
  };
  await rig.settled(command);
  expect(await rig.data("approval.withdrawn")).toHaveLength(1);
  expect(await rig.session.read()).toMatchObject({ approvals: [] });
  expect(await after).toEqual([
    { outcome: "expired", message: expect.stringContaining("withdrawn") },
    expect.stringContaining("has ended"),
  ]);
});
