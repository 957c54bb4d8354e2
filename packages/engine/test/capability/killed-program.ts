// A host that is killed while its program waits for a person, for tests: `node killed-program.ts STORE PROVIDER_URL`. It
// says so on stdout, to be killed.

import { openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { createQuickJsExecutor } from "../../src/execute/host/quickjs-executor.ts";
import { capabilityTools, createModelEngine, createModels } from "../../src/index.ts";
import { key, modelsJson } from "../model/rig.ts";
import { Attached, ledgerNamespace, writesDown } from "./attached.ts";

const [path = "", url = ""] = process.argv.slice(2);
const { sql } = await openSql(path);
const platform = nodePlatform({ report: console.error });
const source = new Attached(ledgerNamespace);
source.answer = writesDown(path);
const engine = createModelEngine({
  models: createModels({ modelsJson: modelsJson("anthropic", url), env: () => key }),
  after: (ms, wake) => platform.after(ms, wake),
  definition: async () => ({
    system: "You are a test.",
    tools: capabilityTools({ source, executor: createQuickJsExecutor(), threshold: 0 }).tools,
    cwd: ".",
    model: "scripted/scripted-1",
  }),
});
const agent = await openOwner({ sql, platform }).attach({ agent: "tester", engine });
const session = agent.session("s");
await session.send({ type: "prompt", requestId: "first", text: "go" });
for await (const frame of session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  if ((await session.read()).approvals.length > 0) break;
}
console.log("The program waits.");
// Holds the process until it is killed.
setInterval(() => {}, 60_000);
