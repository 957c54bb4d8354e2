// Makes a stored database of the schema that this version writes, and beside it what was read of it:
//
//   node packages/runtime/test/stores/make-store.ts packages/runtime/test/stores/schema-1
//
// A schema that was released is made once and never again: its file is how later versions are known to read it.

import { rm, writeFile } from "node:fs/promises";
import { openSql } from "../../src/host/node/index.ts";
import { type Move, scriptedEngine } from "../../src/testing/index.ts";
import { type Clock, turns, until } from "../clock.ts";
import type { Life } from "../life.ts";
import { line, prompt, run, sent, settled, Stage } from "../stage.ts";
import { storedProgram } from "./stored-program.ts";

const usage = { input: 10, output: 20, cacheRead: 1, cacheWrite: 2, cost: 0.25 };

const scripts: Readonly<Record<string, readonly Move[]>> = {
  calls: [
    {
      text: "let me see",
      usage,
      calls: [
        { name: "look", effect: () => ({ content: [{ type: "text", text: "seen" }, { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }], isError: false, data: { rows: [1, 2] } }) },
        { name: "write", label: "write" },
      ],
    },
    { say: "a needle in the answer", usage },
  ],
  long: [{ say: "long ".repeat(6_600) }],
  fails: [{ fail: "the model is not there" }],
  asks: [{ calls: [{ name: "pay", label: "write", input: { amount: 7 }, confirm: { description: "Pay 7?" } }] }, { say: "paid" }],
  opens: [{ calls: [{ name: "send", label: "write", effect: () => new Promise<never>(() => {}) }] }, { say: "sent" }],
  program: storedProgram(false),
  pays: storedProgram(true),
  compacts: [{ append: [{ kind: "compaction", data: { summary: "it was about needles", tokensBefore: 100, automatic: false } }] }],
};

async function tell(life: Life, clock: Clock): Promise<void> {
  const talk = life.session("talk");
  for (const text of ["calls", "long", "fails"]) await settled(talk, await sent(talk, prompt(text, { text })));
  await talk.send(line("note", "grüße from the side line"));
  await talk.change({ title: "Needles", model: "a/b", reasoning: "high" });
  await settled(talk, await sent(talk, prompt("image", { text: "see", images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] })));
  await life.session("talk").fork({ requestId: "fork", session: "fork" });
  await run(life.session("fork"), "own");
  await talk.send({ type: "compact", requestId: "compact", instructions: "compacts" });
  await talk.withdraw("never sent");

  await run(life.session("gone"), "gone");
  await life.session("gone").withdraw("fenced");
  await life.session("gone").fork({ requestId: "keep", session: "orphan" });
  await life.session("gone").delete();

  const cancelled = life.session("cancelled");
  const id = await sent(cancelled, prompt("opens", { text: "opens" }));
  await turns(10);
  await cancelled.send({ type: "cancel", requestId: "cancel", commandId: id });
  // Its tool does not stop: the run is settled without it.
  await clock.advance(10_000);
  await settled(cancelled, id);

  await settled(life.session("program"), await sent(life.session("program"), prompt("program", { text: "program" })));
  await sent(life.session("pays"), prompt("pays", { text: "pays" }));
  await sent(life.session("asks"), prompt("asks", { text: "asks" }));
  await sent(life.session("asks"), prompt("queued"));
  await sent(life.session("opens"), prompt("opens", { text: "opens" }));
  await sent(life.session("opens"), prompt("steer", { delivery: "steer" }));
  await machine(life);
  await until(async () => (await life.session("asks").info()).approvals === 1, "the approval");
  await turns(20);
  await life.agent.withMeta({ author: { id: "u1" } }).session("meta").send(line("l"));
}

/** An agent of a machine, with what its coding agent said, and one that was removed. */
async function machine(life: Life): Promise<void> {
  const engine = scriptedEngine([
    { append: [
      { kind: "harness.process", data: { group: 77, startedAt: "2026-01-02T03:04:05.000Z", boot: "b1" } },
      { kind: "harness.conversation", data: { conversation: "c1", file: "/home/u/c1.jsonl" } },
      { kind: "harness.line", data: { harness: "claude", line: { type: "assistant", text: "a line of a harness" } } },
    ] },
    { say: "done" },
  ]);
  for (const agent of ["k1", "k2"]) {
    const settings = { dir: "/home/u/demo", harness: "claude", autoApprove: false };
    const kept = await life.owner.attach({ agent, name: `demo ${agent}`, engine, settings });
    await kept.create({ requestId: "made", session: "main", events: true });
    await run(kept.session("main"), "p");
  }
  await life.owner.remove("k2");
  const session = life.owner.agent("k1")!.session("main");
  await session.configure({ autoApprove: true, model: "a/b" }, "phone");
  await session.configure({ starred: true }, "phone", { quiet: true });
  await session.rename("renamed", "phone");
}

const target = process.argv[2]!;
for (const end of [".db", ".db-wal", ".db-shm", ".json"]) await rm(`${target}${end}`, { force: true });
const file = await openSql(`${target}.db`);
const stage = new Stage(file.sql);
const life = await stage.open({
  engine: scriptedEngine((work) => scripts[work.text] ?? [{ say: `an answer to ${work.text}` }]),
});
await tell(life, stage.clock);
const { sessions } = await life.agent.sessions();
const main = life.owner.agent("k1")!.session("main");
const ofMachine = { kept: life.owner.kept(), baseline: await main.read(), events: await main.events({ after: 0, limit: 100 }) };
const seen = { machine: ofMachine, sessions, baselines: {} as Record<string, object>, settlements: {} as Record<string, object> };
for (const { session: of } of sessions) {
  const baseline = await life.session(of).read();
  seen.baselines[of] = baseline;
  for (const { kind, commandId } of baseline.entries)
    if (kind === "run.settled") seen.settlements[commandId!] = { of, ...(await life.session(of).readSettlement(commandId!)) };
}
stage.end();
file.sql.run("vacuum");
file.sql.all("pragma wal_checkpoint(TRUNCATE)");
await file.close();
await writeFile(`${target}.json`, `${JSON.stringify(seen, undefined, 1)}\n`);
