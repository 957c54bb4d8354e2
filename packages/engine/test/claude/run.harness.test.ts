import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bash, Rig } from "./rig.ts";

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

test("[CC2] a steer is written at once, taken into the turn, and part of its run", async () => {
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: [
      { parts: [bash("while [ ! -e go ]; do sleep 0.05; done")] },
      { parts: [{ text: "Both " }, { gate: "late" }, { text: "done." }] },
      "The late one too.",
    ],
  });
  const command = await rig.send({ type: "prompt", text: "begin with zebras" });
  await rig.untilEntry(({ kind }) => kind === "call.started");
  await rig.send({ type: "prompt", text: "steer in a tool", delivery: "steer" });
  await rig.untilEntry(({ kind, data }) => kind === "message.user" && "steers" in data);
  await writeFile(join(rig.dir, "go"), "");
  await rig.untilShown("Both ");
  await rig.send({ type: "prompt", text: "steer in the last answer", delivery: "steer" });
  await rig.untilEntry(
    ({ kind, data }) => kind === "message.user" && data["text"] === "steer in the last answer",
  );
  rig.provider.open("late");
  const settled = await rig.settled(command);
  expect(settled).toMatchObject({ terminal: "completed", answer: "The late one too." });
  const texts =
    rig.provider.requests
      .at(-1)
      ?.messages.map(({ text }) => text)
      .join("\n") ?? "";
  for (const text of ["begin with zebras", "steer in a tool", "steer in the last answer"])
    expect(texts.split(text).length - 1, text).toBe(1);
  // All of it is one run: three requests, each counted once.
  expect(settled.usage).toMatchObject({ input: 30, output: 15 });
});

test("[CC2] a command that is sent as a steer is part of the run: it ends when that is done", async () => {
  rig = await Rig.start({
    script: [{ parts: [{ text: "Begun " }, { gate: "late" }, { text: "and done." }] }, "Second."],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  await rig.untilShown("Begun ");
  const steer = await rig.send({ type: "prompt", text: "/nonsense", delivery: "steer" });
  await rig.untilEntry(({ kind, data }) => kind === "message.user" && "steers" in data);
  rig.provider.open("late");
  const answer = "Unknown command: /nonsense";
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer });
  expect(await rig.settled(steer)).toMatchObject({ terminal: "completed", answer });
  expect(await rig.prompt("next")).toMatchObject({ answer: "Second." });
  const kinds = (await rig.entries()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "run.started").length).toBe(2);
});

test("[CC5] a cancelled turn is asked to stop, and the process lives on", async () => {
  rig = await Rig.start({ script: [{ parts: [{ text: "Begun" }, { hang: true }] }, "Next."] });
  const command = await rig.send({ type: "prompt", text: "go" });
  await rig.untilShown("Begun");
  await rig.send({ type: "cancel", commandId: command });
  expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
  expect(await rig.prompt("next")).toMatchObject({ terminal: "completed", answer: "Next." });
  expect((await rig.data("harness.process")).length).toBe(1);
});

test("[CC7] an image arrives as one", async () => {
  rig = await Rig.start({ script: ["A dot."] });
  const data =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const command = await rig.send({
    ...{ type: "prompt", text: "What is it?", images: [{ mimeType: "image/png", data }] },
  });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "A dot." });
  const [request] = rig.provider.requests;
  expect(request?.messages.flatMap(({ images }) => images)).toMatchObject([{ data }]);
});

test("[CC8] the session's model is the model of its next turn", async () => {
  rig = await Rig.start({ script: ["One.", "Two.", "Three."] });
  await rig.prompt("first");
  await rig.session.change({ model: "anthropic/claude-haiku-4-5" });
  await rig.prompt("second");
  await rig.session.change({ model: null });
  await rig.prompt("third");
  const models = rig.provider.requests.map(({ model }) => model);
  expect(models[2]).toBe(models[0]);
  expect(models[1]).toContain("haiku");
  expect(models[0]).not.toContain("haiku");
  const names = (await rig.engine.models?.())?.models.map(({ model }) => model) ?? [];
  expect(names).toContain("anthropic/sonnet");
  await expect(rig.engine.check?.({ model: "no such model" })).rejects.toThrow("There is no model");
  expect(rig.engine.commands().map(({ name }) => name)).toContain("compact");
});

test("[CC9] what a sub-agent says is kept, and is neither a message nor the answer", async () => {
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: (request) => {
      const text = request.messages.map((message) => message.text).join();
      const hasResult = request.messages.some(({ results }) => results.length > 0);
      if (text.includes("work below")) return hasResult ? "From below." : { parts: [bash("true")] };
      if (hasResult) return "From above.";
      const input = { description: "sub", prompt: "work below", subagent_type: "general-purpose" };
      return { parts: [{ call: { name: "Task", input } }] };
    },
  });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "From above." });
  const messages = await rig.data("message.assistant");
  expect(messages.flatMap(({ content }) => content)).toMatchObject([
    { type: "call", name: "Task" },
    { type: "text", text: "From above." },
  ]);
  const lines = JSON.stringify(await rig.data("harness.line"));
  expect(lines).toContain("work below");
  expect((await rig.data("call.started")).map(({ name, label }) => [name, label])).toEqual([
    ["Task", "read"],
  ]);
});

test("[CC16] what Claude Code does by itself when a job ends is a run of its own, and none of it is lost", async () => {
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: (request) => {
      const last = request.messages.findLast(({ role }) => role === "user");
      if (last?.text.includes("task-notification")) return "The job is done.";
      if (last?.results.length) return "Started.";
      return { parts: [bash("sleep 1; echo ready", { run_in_background: true })] };
    },
  });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "Started." });
  const queued = await rig.untilEntry(
    ({ kind, data }) => kind === "command.queued" && data["type"] === "outside",
  );
  expect(queued.data).toMatchObject({ source: "claude" });
  const settled = await rig.settled(queued.commandId ?? "");
  expect(settled).toMatchObject({ terminal: "completed", answer: "The job is done." });
  expect(await rig.lines()).toContain("system/task_notification");
  expect(await rig.prompt("go again")).toMatchObject({ terminal: "completed" });
  expect(rig.reported).toEqual([]);
});

test("[CC17] a tool's input and result of 5 MB come whole into the log", async () => {
  const content = "0123456789abcde\n".repeat(5 * 65_536);
  rig = await Rig.start({
    settings: { autoApprove: true },
    script: (request) => {
      if (request.messages.some(({ results }) => results.length > 0)) return "Written.";
      const input = { file_path: join(rig?.dir ?? "", "large.txt"), content };
      return { parts: [{ call: { name: "Write", input } }] };
    },
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "Written." });
  expect(await readFile(join(rig.dir, "large.txt"), "utf8")).toBe(content);
  // Long strings stand beside the log, as they were.
  const lines = (await rig.data("harness.line")).map((line) => JSON.stringify(line));
  const result = lines.find((line) => line.includes("tool_use_result"));
  expect(result).toContain(`"bytes":${content.length}`);
  const [message] = await rig.data("message.assistant");
  expect(JSON.stringify(message)).toContain(`"bytes":${content.length}`);
});

test("[CC18] without a login it says how to log in; `/login` too", async () => {
  rig = await Rig.start({ env: { ANTHROPIC_API_KEY: "" } });
  const settled = await rig.prompt("hello");
  expect(settled).toMatchObject({ terminal: "failed" });
  expect(settled).not.toHaveProperty("retryable");
  expect(settled.diagnostic).toContain("type /login");
  expect(await rig.prompt("/login")).toMatchObject({ terminal: "failed" });
  const refused = await rig.prompt("/nonsense");
  expect(refused).toMatchObject({ terminal: "completed", answer: "Unknown command: /nonsense" });
});

test("[CC18] a provider's refusal fails the run with its words, and is no model's", async () => {
  rig = await Rig.start({ script: [{ refuse: "invalid", message: "no such thing" }] });
  const settled = await rig.prompt("hello");
  expect(settled).toMatchObject({ terminal: "failed" });
  expect(settled.diagnostic).toContain("no such thing");
  const [message] = await rig.data("message.assistant");
  expect(message).not.toHaveProperty("model");
});

test("[CC19] a compaction stands in the log with its summary", async () => {
  rig = await Rig.start({ script: ["One.", "And one.", "The summary of it.", "Two."] });
  await rig.prompt("first");
  await rig.prompt("second");
  const command = await rig.send({ type: "compact", instructions: "be short" });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed" });
  const [compaction] = await rig.data("compaction");
  expect(compaction?.automatic).toBe(false);
  expect(JSON.stringify(compaction?.summary)).toContain("The summary of it.");
  expect(await rig.prompt("more")).toMatchObject({ answer: "Two." });
});
