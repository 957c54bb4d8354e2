// A host that is killed in the middle of a run of Claude Code, for tests: `node killed-host.ts FOLDER PROVIDER_URL
// [auto] [holds] [allows] [steers]`. It prompts, says each kind of entry on stdout as it comes, and waits to be killed.
// `auto`: permissions are given; `holds`: it never settles the run, though the result is in its log; `allows`: a person
// allows what is asked; `steers`: a steer comes once a call has begun.

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
const answers = async (): Promise<void> => {
  const { approvals } = await session.read();
  for (const { approvalId } of approvals) {
    const answer = { type: "answer", requestId: approvalId, approvalId, allow: true } as const;
    await session.send(answer);
  }
};
let told = 0;
for await (const frame of session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  const { entries } = await session.read({ limit: 200 });
  for (const { kind, seq, data } of entries) {
    if (seq <= told) continue;
    if (kind === "approval.asked" && flags.includes("allows")) await answers();
    if (kind === "call.started" && flags.includes("steers"))
      await session.send({
        ...{ type: "prompt", requestId: "steer", text: "mind the lions", delivery: "steer" },
      });
    if (kind === "harness.process") console.log(`group ${JSON.stringify(data["group"])}`);
    console.log(kind);
  }
  told = Math.max(told, ...entries.map(({ seq }) => seq));
}
