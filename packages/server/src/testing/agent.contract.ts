// What any agent promises through `invoke`, as a suite that runs against any implementation of the contract.

import type { AgentEvent } from "@lichen/wire";
import { expect, test } from "vitest";
import { AgentFailure, collect } from "../invoke/collect.ts";
import type { Agent } from "../invoke/contract.ts";

/** Makes agents of one implementation. What they open is the subject's to close after the suite. */
export interface AgentSubject {
  /** Answers every prompt with some text. */
  completing(): Promise<Agent>;
  /** Fails every prompt. */
  failing(): Promise<Agent>;
  /** Says something, then works until it is stopped; `stopped` settles when the work really ended. */
  hanging(): Promise<{ agent: Agent; stopped: Promise<unknown> }>;
  /** Another instance over the store of the last completing agent, which is closed by then. */
  again?: () => Promise<Agent>;
}

const prompt = { text: "Hello" };

export function agentContract(name: string, subject: AgentSubject): void {
  test(`[I1] ${name}: a turn that succeeds ends with exactly one completed event, and nothing follows`, async () => {
    const events = await all((await subject.completing()).invoke({ session: "one" }, prompt));
    expect(events.at(-1)?.type).toBe("completed");
    expect(events.filter(isTerminal)).toHaveLength(1);
    expect(events.some(({ type }) => type === "text")).toBe(true);
    for (const event of events) if (event.type === "text") expect(event.delta).not.toBe("");
  });

  test(`[I1] ${name}: a turn that fails ends with exactly one failed event and never throws`, async () => {
    const agent = await subject.failing();
    const events = await all(agent.invoke({ session: "one" }, prompt));
    expect(events.filter(isTerminal)).toEqual([events.at(-1)]);
    expect(events.at(-1)).toMatchObject({
      type: "failed",
      details: expect.any(String),
      retryable: expect.any(Boolean),
    });
    await expect(collect(agent.invoke({ session: "two" }, prompt))).rejects.toBeInstanceOf(
      AgentFailure,
    );
  });

  test(`[I1] ${name}: a session that cannot be used is a failed event`, async () => {
    const agent = await subject.completing();
    const events = await all(agent.invoke({ session: "\u0000" }, prompt));
    expect(events).toMatchObject([{ type: "failed", retryable: false }]);
  });

  test(`[I2] ${name}: leaving stops the work and the stream is silent from then on`, async () => {
    const { agent, stopped } = await subject.hanging();
    const events = agent.invoke({ session: "one" }, prompt)[Symbol.asyncIterator]();
    expect((await events.next()).done).toBe(false);
    await events.return?.();
    await stopped;
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test(`[I2] ${name}: leaving works while the next event is waited for`, async () => {
    const { agent, stopped } = await subject.hanging();
    const events = agent.invoke({ session: "one" }, prompt)[Symbol.asyncIterator]();
    await events.next();
    const parked = events.next();
    await events.return?.();
    expect(await parked).toEqual({ done: true, value: undefined });
    await stopped;
  });

  test(`[I2] ${name}: breaking out of a loop is leaving`, async () => {
    const { agent, stopped } = await subject.hanging();
    for await (const event of agent.invoke({ session: "one" }, prompt)) {
      expect(isTerminal(event)).toBe(false);
      break;
    }
    await stopped;
  });

  test(`[I3] ${name}: equal session strings are one conversation, others are not, and they run side by side`, async () => {
    const agent = await subject.completing();
    const answers = await Promise.all(
      ["a", "b", "c"].map((session) => collect(agent.invoke({ session }, prompt))),
    );
    for (const { text } of answers) expect(text).not.toBe("");
    expect((await collect(agent.invoke({ session: "a" }, prompt))).text).not.toBe("");
  });

  const { again } = subject;
  if (!again) return;
  test(`[I3] ${name}: another process goes on with the conversation`, async () => {
    const agent = await subject.completing();
    await collect(agent.invoke({ session: "kept" }, prompt));
    const other = await again();
    expect((await collect(other.invoke({ session: "kept" }, prompt))).text).not.toBe("");
  });
}

async function all(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const seen: AgentEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

function isTerminal({ type }: AgentEvent): boolean {
  return type === "completed" || type === "failed";
}
