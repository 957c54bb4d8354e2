// A host that is killed in the middle of a run, for tests: `node killed-host.ts STORE PROVIDER_URL`. It prompts its
// agent, says so on stdout once one call is recorded and two are open, and waits to be killed.

import { openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { createModelEngine, createModels } from "../../src/index.ts";
import { key, modelsJson, tool } from "./rig.ts";

const [path = "", url = ""] = process.argv.slice(2);
const { sql } = await openSql(path);
const platform = nodePlatform({ report: console.error });
let begun = 0;
const begin = () => {
  begun++;
  return new Promise(() => {});
};
const engine = createModelEngine({
  models: createModels({ modelsJson: modelsJson("anthropic", url), env: () => key }),
  after: (ms, wake) => platform.after(ms, wake),
  definition: async () => ({
    system: "You are a test.",
    tools: [
      tool({ name: "quick", execute: () => "quick" }),
      tool({ name: "look", label: "read", execute: begin }),
      tool({ name: "write", execute: begin }),
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
  const { entries } = await session.read();
  if (begun === 2 && entries.some((entry) => entry.kind === "message.tool")) break;
}
console.log("Two calls are open.");
// Holds the process until it is killed.
setInterval(() => {}, 60_000);
