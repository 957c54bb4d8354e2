// A host that is killed in the middle of a run of Claude Code, for tests: `node killed-host.ts FOLDER PROVIDER_URL
// [auto] [holds]`. It prompts, says each kind of entry on stdout as it comes, and waits to be killed. `auto`: permissions
// are given; `holds`: it never settles the run, though the result is in its log.

import { join } from "node:path";
import { openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { createClaudeEngine } from "../../src/claude/host/create.ts";
import { claude, harnessOptions } from "./rig.ts";

const [folder = "", url = "", ...flags] = process.argv.slice(2);
const { sql } = await openSql(join(folder, "store.db"));
const platform = nodePlatform({ report: console.error });
const engine = createClaudeEngine({
  ...harnessOptions(folder, url),
  command: [claude],
  settings: () => ({ autoApprove: flags.includes("auto"), keepRunning: false }),
  clock: platform,
  report: console.error,
});
const holding: typeof engine = {
  ...engine,
  open(session, host) {
    const connection = engine.open(session, host);
    return {
      ...connection,
      stays: true,
      close: () => connection.close(),
      async run(work, run) {
        await connection.run(work, run);
        console.log("ended");
        return new Promise(() => {});
      },
    };
  },
};
const agent = await openOwner({ sql, platform }).attach({
  agent: "coder",
  engine: flags.includes("holds") ? holding : engine,
});
const session = agent.session("s");
await session.send({ type: "prompt", requestId: "first", text: "do the zebra task" });
let told = 0;
for await (const frame of session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  const { entries } = await session.read({ limit: 200 });
  for (const { kind, seq } of entries) if (seq > told) console.log(kind);
  told = Math.max(told, ...entries.map(({ seq }) => seq));
}
