// A host that its own pi kills: `node killed-host.ts FOLDER MOMENT TEXT STEER`. It sends the text, and the steer once a call
// runs; `/compact` is sent behind two prompts; it touches the file `seen` in pi's folder once that call stands in the log.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { engineIn, pi } from "./rig.ts";

const [folder = "", moment = "", text = "", steer = ""] = process.argv.slice(2);
const { sql } = await openSql(join(folder, "store.db"));
const report = (error: unknown): void => console.error(error);
const owner = openOwner({ sql, platform: nodePlatform({ report }) });
const engine = engineIn(folder, {
  command: [process.execPath, join(import.meta.dirname, "killing-pi.ts"), moment, pi],
  report,
});
const agent = await owner.attach({ agent: "tester", engine });
await agent.create({ requestId: "session", session: "s" });
const session = agent.session("s");
if (text.startsWith("/compact")) {
  for (const requestId of ["1", "2"]) {
    const { commandId = "" } = await session.send({ type: "prompt", requestId, text: requestId });
    await session.readSettlement(commandId, { timeoutMs: 30_000 });
  }
  await session.send({ type: "compact", requestId: "first" });
} else await session.send({ type: "prompt", requestId: "first", text });
for await (const frame of session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  const { entries, approvals } = await session.read();
  const [asked] = approvals;
  if (asked) {
    const { approvalId } = asked;
    await session.send({ type: "answer", requestId: approvalId, approvalId, allow: true });
  }
  if (!entries.some(({ kind }) => kind === "call.started")) continue;
  if (steer !== "")
    await session.send({ type: "prompt", requestId: "steer", text: steer, delivery: "steer" });
  await writeFile(join(folder, "work", "seen"), "");
}
