// A turn of the real pi, as a run of ours.

import { expect, onTestFinished, test } from "vitest";
import { type Rig, type RigOptions, startRig, untilShown } from "./rig.ts";

async function rigFor(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  onTestFinished(() => rig.close());
  return rig;
}

test("[PI1] a turn of pi is a run: its messages, its call and its answer stand in the log, each with pi's line", async () => {
  const rig = await rigFor({
    script: [
      {
        parts: [
          { thinking: ["so ", "then"] },
          { text: ["I ", "look"] },
          { call: { name: "bash", input: { command: "echo hi" } } },
        ],
      },
      "Done.",
    ],
  });
  const settlement = await rig.prompt("Say hi");
  expect(settlement).toMatchObject({ terminal: "completed", answer: "Done.", toolCalls: 1 });
  expect(settlement.usage).toMatchObject({ input: 20, output: 10 });
  const kinds = (await rig.entries()).map(({ kind }) => kind);
  expect(kinds).toEqual([
    "command.queued",
    "run.started",
    "message.user",
    "harness.process",
    "harness.conversation",
    "harness.line",
    "harness.line",
    "harness.line",
    "message.assistant",
    "call.started",
    "harness.line",
    "message.tool",
    "harness.line",
    "message.assistant",
    "harness.line",
    "harness.line",
    "run.settled",
  ]);
  const [first] = await rig.data("message.assistant");
  expect(first?.content.map(({ type }) => type)).toEqual(["thinking", "text", "call"]);
  const [tool] = await rig.data("message.tool");
  expect(tool).toMatchObject({ name: "bash", isError: false, content: [{ text: "hi\n" }] });
  const [started] = await rig.data("call.started");
  expect(started).toMatchObject({ name: "bash", label: "write", replaySafe: false });
  expect(rig.reported).toEqual([]);
});

test("[PI3] text and thoughts are shown while they stream", async () => {
  const rig = await rigFor({
    script: [
      { parts: [{ thinking: "deep" }, { text: "half" }, { gate: "more" }, { text: " way" }] },
    ],
  });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ text, thinking }) => text === "half" && thinking === "deep");
  rig.provider.open("more");
  expect(await rig.settled(commandId)).toMatchObject({ answer: "half way" });
});

test("[PI5] a steer joins the turn that runs, and settles with it", async () => {
  const rig = await rigFor({
    script: [
      {
        parts: [
          { text: "first" },
          { gate: "go" },
          { call: { name: "bash", input: { command: "true" } } },
        ],
      },
      "Both done.",
    ],
  });
  const commandId = await rig.send({ type: "prompt", text: "one" });
  await untilShown(rig, ({ text }) => text === "first");
  const steer = await rig.send({ type: "prompt", text: "and two", delivery: "steer" });
  await rig.until(
    ({ kind, data }) => kind === "message.user" && JSON.stringify(data).includes("and two"),
  );
  rig.provider.open("go");
  expect(await rig.settled(commandId)).toMatchObject({
    terminal: "completed",
    answer: "Both done.",
  });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "Both done." });
  expect(rig.provider.requests[1]?.messages.at(-1)?.text).toBe("and two");
  expect(rig.provider.requests).toHaveLength(2);
});

test("[PI5] a prompt that waits is sent when the turn before it is over", async () => {
  const rig = await rigFor({ script: [{ parts: [{ gate: "go" }, { text: "one" }] }, "two"] });
  const first = await rig.send({ type: "prompt", text: "1" });
  const second = await rig.send({ type: "prompt", text: "2" });
  await rig.provider.request(1);
  rig.provider.open("go");
  expect(await rig.settled(first)).toMatchObject({ answer: "one" });
  expect(await rig.settled(second)).toMatchObject({ answer: "two" });
});

test("[PI6] a request that is refused for a while is tried again in the same run, and shown", async () => {
  const rig = await rigFor({
    script: [{ refuse: "rate_limited" }, { refuse: "overloaded" }, "at last"],
    settings: { retry: { baseDelayMs: 200 } },
  });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ retrying }) => retrying?.attempt === 1 && retrying.maxAttempts === 3);
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "at last" });
  expect(await rig.data("run.settled")).toHaveLength(1);
  expect(await rig.data("message.assistant")).toHaveLength(1);
});

test("[PI6] a run that fails says the model's words, and whether it may succeed later", async () => {
  const rig = await rigFor({
    script: [
      { refuse: "invalid", message: "no such thing" },
      ...Array.from({ length: 4 }, () => ({ refuse: "overloaded" as const })),
    ],
  });
  const refused = await rig.prompt("go");
  expect(refused).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("no such thing"),
  });
  expect(refused.retryable).toBeUndefined();
  expect(await rig.prompt("again")).toMatchObject({ terminal: "failed", retryable: true });
});

test("[PI7] expanded skills and templates are one message, as the person wrote it", async () => {
  const rig = await rigFor({
    script: ["hello", "danced", { parts: [{ gate: "go" }, { text: "x" }] }, "greeted"],
    files: {
      "prompts/greet.md": "---\ndescription: greets\n---\nGreet $1 warmly.",
      "skills/dance/SKILL.md": "---\nname: dance\ndescription: dances\n---\nDance now.",
    },
  });
  expect(await rig.prompt("/greet Ann")).toMatchObject({ answer: "hello" });
  expect(await rig.prompt("/skill:dance")).toMatchObject({ answer: "danced" });
  expect(rig.provider.requests[0]?.messages.at(-1)?.text).toBe("Greet Ann warmly.");
  const commandId = await rig.send({ type: "prompt", text: "wait" });
  await rig.provider.request(3);
  const steer = await rig.send({ type: "prompt", text: "/greet Bob", delivery: "steer" });
  await rig.until(
    ({ kind, data }) => kind === "message.user" && JSON.stringify(data).includes("Bob"),
  );
  rig.provider.open("go");
  await rig.settled(commandId);
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer: "greeted" });
  expect((await rig.data("message.user")).map(({ text }) => text)).toEqual([
    "/greet Ann",
    "/skill:dance",
    "wait",
    "/greet Bob",
  ]);
  expect((await rig.data("command.queued")).map(({ type }) => type)).not.toContain("outside");
  const users = (await rig.lines()).filter((line) =>
    JSON.stringify(line).includes('"role":"user"'),
  );
  expect(users).toEqual([]);
});

test("[PI8] a stopped turn ends pi's own, and the next one goes on in the same process", async () => {
  const rig = await rigFor({ script: [{ parts: [{ text: "half" }, { hang: true }] }, "fresh"] });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  await untilShown(rig, ({ text }) => text === "half");
  const steer = await rig.send({ type: "prompt", text: "never read", delivery: "steer" });
  await rig.until(
    ({ kind, data }) => kind === "message.user" && JSON.stringify(data).includes("never read"),
  );
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.prompt("next")).toMatchObject({ terminal: "completed", answer: "fresh" });
  expect(await rig.data("harness.process")).toHaveLength(1);
  expect(rig.provider.requests.at(-1)?.messages.at(-1)?.text).toBe("next");
  const [half] = await rig.data("message.assistant");
  expect(half).toMatchObject({ stop: "aborted", content: [{ text: "half" }] });
});

test("[PI8] a turn that does not stop loses its process", async () => {
  const rig = await rigFor({
    extension: `export default (pi) => pi.registerCommand("stuck", { handler: () => new Promise(() => {}) });`,
    script: ["fresh"],
  });
  const commandId = await rig.send({ type: "prompt", text: "/stuck" });
  await rig.until(
    ({ kind, data }) => kind === "harness.line" && JSON.stringify(data).includes("get_entries"),
  );
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  const [stopped] = await rig.data("harness.stopped");
  expect(stopped?.reason).toBe("it did not stop when it was asked");
  expect(await rig.prompt("next")).toMatchObject({ terminal: "completed", answer: "fresh" });
});

test("[PI8] a run that is stopped while pi answers nothing loses its process, and the next one begins", async () => {
  const rig = await rigFor({ script: ["one", "two"] });
  await rig.prompt("1");
  process.kill(rig.engine.standing().pid ?? 0, "SIGSTOP");
  const commandId = await rig.send({ type: "prompt", text: "never read" });
  await rig.until((entry) => entry.kind === "run.started" && entry.commandId === commandId);
  await rig.send({ type: "cancel", commandId });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.prompt("2")).toMatchObject({ terminal: "completed", answer: "two" });
  const [stopped] = await rig.data("harness.stopped");
  expect(stopped?.reason).toBe("it did not stop when it was asked");
  expect(rig.provider.requests.at(-1)?.messages.map(({ text }) => text)).toEqual(["1", "one", "2"]);
});

test("[PI5] lines of an operator reach the model with the next prompt, or in the turn that runs", async () => {
  const call = { call: { name: "bash", input: { command: "true" } } };
  const rig = await rigFor({ script: [{ parts: [{ gate: "go" }, call] }, "done"] });
  await rig.send({ type: "line", text: "(the build is green)" });
  const commandId = await rig.send({ type: "prompt", text: "go" });
  const first = await rig.provider.request(1);
  expect(first.messages.at(-1)?.text).toBe("(the build is green)\n\ngo");
  await rig.send({ type: "line", text: "(the build is red)" });
  await rig.until(({ kind, data }) => kind === "line" && JSON.stringify(data).includes("red"));
  rig.provider.open("go");
  await rig.settled(commandId);
  expect(rig.provider.requests[1]?.messages.at(-1)?.text).toBe("(the build is red)");
});

test("[PI23] a steer that follows its prompt at once is not lost in pi", async () => {
  const call = { call: { name: "bash", input: { command: "true" } } };
  const rig = await rigFor({
    script: ({ messages }) => (messages.at(-1)?.text.startsWith("go") ? { parts: [call] } : "ok"),
  });
  for (let n = 0; n < 5; n++) {
    const commandId = await rig.send({ type: "prompt", text: `go ${n}` });
    const steer = await rig.send({ type: "prompt", text: `steer ${n}`, delivery: "steer" });
    expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed" });
    expect(await rig.settled(steer)).toMatchObject({ terminal: "completed" });
    const asked = rig.provider.requests.at(-1)?.messages.map(({ text }) => text) ?? [];
    expect(asked.filter((text) => text.endsWith(` ${n}`))).toEqual([`go ${n}`, `steer ${n}`]);
  }
});
