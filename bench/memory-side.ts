// The measured processes of figure 5: how much their memory grows, in bytes, with many sessions or agents.
//
//   memory-side.ts STORE

import { setImmediate as turn } from "node:timers/promises";
import type { Agent, Owner } from "@lichen/runtime";
import { answerParent } from "./child.ts";
import { oneDelta, openLichen } from "./open-lichen.ts";

const { owner, agent } = await openLichen(process.argv[2]!);
/** What a program holds on to, so that nothing of it is collected. */
const held: unknown[] = [];

/** Resident memory once everything that can go has gone. */
async function resident(): Promise<number> {
  for (let pass = 0; pass < 4; pass++) {
    await turn();
    globalThis.gc?.();
  }
  return process.memoryUsage.rss();
}

/** A session that answered once and is watched by one reader. */
async function openSession(of: Agent, id: string): Promise<void> {
  const session = of.session(id);
  const { commandId } = await session.send({ type: "prompt", requestId: "ask", text: "Hello" });
  await session.readSettlement(commandId!, { timeoutMs: 30_000 });
  const subscription = session.observe({ frame: () => true, end: () => {} });
  held.push(session, subscription);
}

async function openAgent(of: Owner, name: string): Promise<void> {
  const made = await of.attach({ agent: name, engine: oneDelta() });
  held.push(made);
  await openSession(made, "first");
}

/** Grows by `count` after a tenth of that warmed everything up. */
async function growth(count: number, add: (name: string) => Promise<void>): Promise<number> {
  const warm = Math.ceil(count / 10);
  for (let number = 0; number < warm; number++) await add(`warm-${number}`);
  const before = await resident();
  for (let number = 0; number < count; number++) await add(`idle-${number}`);
  return (await resident()) - before;
}

answerParent({
  sessions: (count: number) => growth(count, (name) => openSession(agent, name)),
  agents: (count: number) => growth(count, (name) => openAgent(owner, name)),
});
