// The scripted engine on a real owner and a real store.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { nodePlatform, openSql } from "../src/host/node/index.ts";
import { type Agent, type Engine, openOwner } from "../src/index.ts";
import { type Move, scriptedEngine } from "../src/testing/index.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function store(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "scripted-engine-"));
  ends.push(() => rm(folder, { recursive: true }));
  return join(folder, "agent.db");
}

async function openAgent(path: string, engine: Engine) {
  const file = await openSql(path);
  const platform = nodePlatform({
    report: (error) => {
      throw error;
    },
  });
  const owner = openOwner({ sql: file.sql, platform });
  const agent = await owner.attach({ agent: "a", engine });
  const close = async (): Promise<void> => {
    await owner.close({ patienceMs: 0 });
    await file.close();
  };
  ends.push(close);
  return { agent, close };
}

async function ask(agent: Agent, requestId: string): Promise<string> {
  const receipt = await agent.session("s").send({ type: "prompt", requestId, text: "go" });
  return receipt.commandId!;
}

function settled(agent: Agent, commandId: string) {
  return agent.session("s").readSettlement(commandId, { timeoutMs: 10_000 });
}

test("[X9] a scripted engine speaks, calls tools, asks, takes steers, fails and throws as its script says", async () => {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const scripts: Record<string, readonly Move[]> = {
    all: [
      { calls: [{ name: "add", effect: () => "3" }, { name: "tell" }], text: "Adding." },
      { ask: { kind: "question", description: "Sure?" } },
      { gate: () => (asked.resolve(), gate.promise) },
      { steers: true },
      {
        say: ({ outcomes, answers, steers }) =>
          `${outcomes.length} ${answers[0]?.outcome} ${JSON.stringify(steers.map((it) => it.data.text))}`,
      },
    ],
    fails: [{ partials: ["a", "ab"] }, { fail: "no luck" }],
    throws: [{ throws: "a bug" }],
  };
  const reported: unknown[] = [];
  const file = await openSql(await store());
  const owner = openOwner({
    sql: file.sql,
    platform: nodePlatform({ report: (error) => void reported.push(error) }),
  });
  ends.push(async () => {
    await owner.close({ patienceMs: 0 });
    await file.close();
  });
  let script: readonly Move[] = [];
  const agent = await owner.attach({ agent: "a", engine: scriptedEngine(() => script) });
  const session = agent.session("s");
  const play = async (name: string): Promise<string> => {
    script = scripts[name]!;
    return ask(agent, name);
  };

  const all = await play("all");
  const watch = session.watch();
  for await (const frame of watch) {
    const [approval] = frame.type === "baseline" ? frame.data.approvals : [];
    const isAsked = frame.type === "entry" && frame.data.kind === "approval.asked";
    if (approval || isAsked) break;
  }
  const [approval] = (await session.read()).approvals;
  await session.send({
    type: "answer",
    requestId: "yes",
    approvalId: approval!.approvalId,
    allow: true,
  });
  await asked.promise;
  await session.send({ type: "prompt", requestId: "steer", text: "left", delivery: "steer" });
  gate.resolve();
  expect(await settled(agent, all)).toMatchObject({
    terminal: "completed",
    answer: '2 allowed ["left"]',
    toolCalls: 2,
  });
  expect(await settled(agent, await play("fails"))).toMatchObject({
    terminal: "failed",
    diagnostic: "no luck",
  });
  expect(await settled(agent, await play("throws"))).toMatchObject({ terminal: "failed" });
  expect(reported.map(String)).toEqual(["Error: a bug"]);
});

test("[X9] after its process was gone a scripted engine goes on from its last committed message", async () => {
  const path = await store();
  const effects: string[] = [];
  const reached = Promise.withResolvers<void>();
  const script = (gate: () => Promise<unknown>): readonly Move[] => [
    { say: "one" },
    { calls: [{ name: "write", label: "write", effect: () => (effects.push("ran"), "done") }] },
    { gate },
    { say: ({ outcomes }) => `two after ${JSON.stringify(outcomes[0]?.content)}` },
  ];
  const first = await openAgent(
    path,
    scriptedEngine(script(() => (reached.resolve(), new Promise(() => {})))),
  );
  const commandId = await ask(first.agent, "r");
  await reached.promise;
  await first.close();

  const second = await openAgent(path, scriptedEngine(script(() => Promise.resolve())));
  expect(await settled(second.agent, commandId)).toMatchObject({
    terminal: "completed",
    answer: 'two after [{"type":"text","text":"done"}]',
  });
  expect(effects).toEqual(["ran"]);
  const { entries } = await second.agent.session("s").read();
  const said = entries.filter(({ kind }) => kind === "message.assistant");
  expect(said).toHaveLength(3);
});

test("[X9] a scripted engine that hangs ends when its run is cancelled", async () => {
  const { agent } = await openAgent(await store(), scriptedEngine([{ hang: true }]));
  const commandId = await ask(agent, "r");
  await agent.session("s").send({ type: "cancel", requestId: "c", commandId });
  expect(await settled(agent, commandId)).toMatchObject({ terminal: "cancelled" });
});
