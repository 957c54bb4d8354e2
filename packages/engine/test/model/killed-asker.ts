// A host that is killed while two of its calls wait for a person, for tests: `node killed-asker.ts STORE PROVIDER_URL`.
// One call of it has an answer already and asks on. It says so on stdout once it waits for the rest, to be killed.

import { openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { createModelEngine, createModels, type ToolContext } from "../../src/index.ts";
import { key, modelsJson, tool } from "./rig.ts";

const [path = "", url = ""] = process.argv.slice(2);
const { sql } = await openSql(path);
const platform = nodePlatform({ report: console.error });
const ask = async (_input: unknown, context: ToolContext) => {
  await context.ask([{ question: "First?" }]);
  return context.ask([{ question: "Second?" }]);
};
const engine = createModelEngine({
  models: createModels({ modelsJson: modelsJson("anthropic", url), env: () => key }),
  after: (ms, wake) => platform.after(ms, wake),
  definition: async () => ({
    system: "You are a test.",
    tools: [
      tool({ name: "look", label: "read", execute: ask }),
      tool({ name: "write", execute: (_input, context) => context.ask([{ question: "Write?" }]) }),
    ],
    cwd: ".",
    model: "scripted/scripted-1",
  }),
});
const agent = await openOwner({ sql, platform }).attach({ agent: "tester", engine });
const session = agent.session("s");
await session.send({ type: "prompt", requestId: "first", text: "go" });
for await (const frame of session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  const { approvals } = await session.read();
  const texts = approvals.map(({ questions }) => JSON.stringify(questions)).join();
  const first = approvals.find(({ questions }) => JSON.stringify(questions).includes("First?"));
  if (first) {
    const { approvalId } = first;
    const answers = { "First?": "one" };
    await session.send({ type: "answer", requestId: "a", approvalId, allow: true, answers });
  }
  if (texts.includes("Second?") && texts.includes("Write?")) break;
}
console.log("Two calls wait.");
// Holds the process until it is killed.
setInterval(() => {}, 60_000);
