import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { argumentsFrom } from "../../src/model/demo-arguments.ts";
import { demoReply, type DemoTool } from "../../src/model/demo-reply.ts";
import { type Rig, startRig, tool } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

const text = { type: "string" };
const dice: DemoTool = {
  name: "dice",
  description: "Roll dice and tell what came up.",
  parameters: {
    type: "object",
    properties: {
      count: { type: "integer", minimum: 1, maximum: 100, default: 1 },
      sides: { type: "integer", minimum: 2, default: 6 },
    },
  },
};
const noteDelete: DemoTool = {
  name: "note_delete",
  description: "Delete a note for good. A person is asked first.",
  parameters: { type: "object", properties: { title: text }, required: ["title"] },
};
const noteWrite: DemoTool = {
  name: "note_write",
  description: "Write a note to a file.",
  parameters: {
    type: "object",
    properties: { title: text, text },
    required: ["title", "text"],
  },
};
const noteList: DemoTool = {
  name: "note_list",
  description: "List all notes.",
  parameters: { type: "object", properties: { containing: text } },
};
const bash: DemoTool = {
  name: "bash",
  description: "Run a shell command.",
  parameters: { type: "object", properties: { command: text }, required: ["command"] },
};
const all = [dice, noteDelete, noteList, noteWrite, bash];

function say(said: string, tools = all) {
  return demoReply({ said, images: 0, results: [] }, tools);
}

test("[E46] the demo model says what it is wherever it cannot help, and when it is asked", () => {
  for (const said of [
    "what is the capital of France?",
    "are you Claude?",
    "hello",
    "",
    "what can you do",
  ])
    expect(say(said).text).toMatch(/demo model .* no language model/);
  expect(say("hello", [noteWrite, dice]).text).toContain("use the dice tool");
  expect(say("who are you?").text).toContain("ANTHROPIC_API_KEY");
});

test.each([
  ["use the dice tool", "dice", {}],
  ["roll a dice with 20 sides", "dice", { sides: 20 }],
  ["roll 3 dice", "dice", { count: 3 }],
  ["please roll 2 dice with 8 sides", "dice", { count: 2, sides: 8 }],
  ["delete the note hello", "note_delete", { title: "hello" }],
  ["delete my shopping note", "note_delete", { title: "shopping note" }],
  ["list notes containing milk", "note_list", { containing: "milk" }],
  ["use bash to list files", "bash", { command: "list files" }],
  ["write a note about the moon", "note_write", { title: "moon", text: "moon" }],
  ['call note_write with {"title":"a","text":"b"}', "note_write", { title: "a", text: "b" }],
  ["write a note that says hello", "note_write", { title: "hello", text: "hello" }],
  [
    "Please write a note titled Shopping with the text milk and bread",
    "note_write",
    { title: "Shopping", text: "milk and bread" },
  ],
  ['write a note "call mum" called Family', "note_write", { title: "Family", text: "call mum" }],
  ["list my notes", "note_list", {}],
  ["can you list the notes please", "note_list", {}],
  ["run bash: ls -l", "bash", { command: "ls -l" }],
  ["bash", "bash", undefined],
] as const)('[E47] "%s" calls %s', (said, name, input) => {
  const reply = say(said);
  if (input) expect(reply.call).toEqual({ name, input });
  else expect(reply.text).toContain('call bash with {"command":"…"}');
});

test("[E48] a question about a thing is not a request for its tool", () => {
  expect(say("what is a note?").call).toBeUndefined();
  expect(say("why do dice have six sides?").call).toBeUndefined();
  expect(say("list the planets").call).toBeUndefined();
});

test("[E49] results are told, errors as errors, and a long one is cut", () => {
  const told = demoReply(
    {
      said: "",
      images: 0,
      results: [
        { name: "dice", text: "4", isError: false },
        { name: "bash", text: "x".repeat(9_000), isError: true },
      ],
    },
    all,
  );
  expect(told.call).toBeUndefined();
  expect(told.text).toMatch(/^`dice` answered: 4\n\n`bash` failed: x+…/);
  expect(told.text.length).toBeLessThan(2_000);
});

test("[E50] the demo model never throws, whatever is said to whatever tool", () => {
  const field = fc.constantFrom(
    text,
    { type: "number" },
    { type: "boolean" },
    { type: "array" },
    { type: "object" },
    { enum: ["a", 1, null] },
    { type: ["string", "null"] },
    {},
  );
  const schema = fc.oneof(
    fc.record({ properties: fc.dictionary(fc.string(), field), required: fc.array(fc.string()) }),
    fc.constant({}),
  );
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), schema, (said, name, parameters) => {
      const one = { name, description: said, parameters };
      for (const words of [said, `use ${name} ${said}`, `call ${name} with {${said}`]) {
        expect(typeof say(words, [one]).text).toBe("string");
        argumentsFrom(words, one);
      }
    }),
    { numRuns: 300 },
  );
});

test("[E51] a newcomer without a key gets a run of the demo model: streamed, with a call that a person must allow", async () => {
  const rig = await startRig({
    spec: "lichen/demo",
    tools: [
      tool({
        ...noteWrite,
        parameters: {
          type: "object",
          properties: { title: text, text },
          required: ["title", "text"],
        },
        confirm: true,
        execute: (input) => `wrote ${JSON.stringify(input["title"])}`,
      }),
    ],
  });
  open.push(rig);
  const command = await rig.send({ type: "prompt", text: "write a note that says hello" });
  for await (const frame of rig.session.watch()) {
    if (frame.type === "partial" || frame.type === "state") continue;
    const [approval] = (await rig.session.read()).approvals;
    if (!approval) continue;
    expect(approval.input).toEqual({ title: "hello", text: "hello" });
    await rig.send({ type: "answer", approvalId: approval.approvalId, allow: true });
    break;
  }
  expect(await rig.settled(command)).toMatchObject({
    terminal: "completed",
    answer: '`note_write` answered: wrote "hello"',
    toolCalls: 1,
  });
  await rig.prompt("hello");
  expect(await rig.settled(await rig.send({ type: "compact" }))).toMatchObject({
    terminal: "completed",
  });
  expect(await rig.prompt("what can you do")).toMatchObject({
    answer: expect.stringContaining("note_write"),
  });
});
