import type { Engine } from "@lichen/runtime";
import { type EngineScript, scriptedEngine } from "@lichen/runtime/testing";
import type { AgentEvent } from "@lichen/wire";
import { expect, test } from "vitest";
import { openAgent } from "../../src/host/open-agent.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invoke } from "../../src/invoke/invoke.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { all } from "./all.ts";

const open = (script: EngineScript) => openAgent({ engine: scriptedEngine(script) });

/** The events of a text, joined. */
const textOf = (events: AgentEvent[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

test("[I4] text arrives once: what partials showed is not repeated when its message is stored", async () => {
  await using opened = await open([
    { partials: ["One", "One two"] },
    { say: "One two three." },
    { say: "And whole." },
  ]);
  const events = await all(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Count." }));
  expect(textOf(events)).toBe("One two three.And whole.");
  expect(events.at(-1)).toEqual({
    type: "completed",
    data: { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
  });
});

test("[I4] a text too long for a row arrives whole", async () => {
  const long = "lichen ".repeat(30_000);
  await using opened = await open([{ partials: ["lichen "] }, { say: long }]);
  const { text } = await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Go." }));
  expect(text).toBe(long);
});

test("[I5] every tool_ended follows its own tool_started, also where a provider repeats its ids", async () => {
  await using opened = await open([
    {
      calls: [
        { name: "look", input: { at: 1 }, callId: "same", effect: () => "first" },
        {
          name: "look",
          input: { at: 2 },
          callId: "same",
          effect: () => ({
            content: [{ type: "text", text: "second" }],
            isError: true,
            data: { n: 2 },
          }),
        },
      ],
    },
    { say: "Done." },
  ]);
  const events = await all(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Look." }));
  const started = events.filter((event) => event.type === "tool_started");
  const ended = events.filter((event) => event.type === "tool_ended");
  expect(started.map(({ id, args }) => [id, args])).toEqual([
    ["same", { at: 1 }],
    ["same#2", { at: 2 }],
  ]);
  expect(ended.find(({ id }) => id === "same#2")).toEqual({
    type: "tool_ended",
    id: "same#2",
    isError: true,
    content: { content: [{ type: "text", text: "second" }], details: { n: 2 } },
  });
  for (const { id } of ended) {
    const position = (type: AgentEvent["type"]) =>
      events.findIndex((event) => event.type === type && "id" in event && event.id === id);
    expect(position("tool_started")).toBeLessThan(position("tool_ended"));
  }
});

test("[I6] a busy session refuses with session_busy, or takes the prompt after its work, as the caller chose", async () => {
  const gate = Promise.withResolvers<void>();
  const running = Promise.withResolvers<void>();
  const held = () => {
    running.resolve();
    return gate.promise;
  };
  await using opened = await open((work) =>
    work.text === "first" ? [{ gate: held }, { say: "one" }] : [{ say: "two" }],
  );
  const first = collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "first" }));
  await running.promise;
  const refused = await all(invokeOf(opened.agent).invoke({ session: "s" }, { text: "no" }));
  expect(refused).toMatchObject([{ type: "failed", code: "session_busy", retryable: true }]);
  const queued = collect(
    invokeOf(opened.agent, { busy: "queue" }).invoke({ session: "s" }, { text: "second" }),
  );
  gate.resolve();
  expect((await first).text).toBe("one");
  expect((await queued).text).toBe("two");
});

test("[I7] how a run ended is told: failed with its reason, aborted by another, interrupted by a closing host", async () => {
  await using failing = await open([{ fail: "429: slow down", retryable: true }]);
  const failed = await all(invokeOf(failing.agent).invoke({ session: "s" }, { text: "x" }));
  expect(failed).toEqual([{ type: "failed", details: "429: slow down", retryable: true }]);

  await using hanging = await open([{ partials: ["…"] }, { hang: true }]);
  const stream = invokeOf(hanging.agent).invoke({ session: "s" }, { text: "x" });
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === "text")
      await hanging.agent.session("s").send({ type: "abort", requestId: "stop" });
  }
  expect(events.at(-1)).toMatchObject({ type: "failed", code: "aborted", retryable: false });

  const closing = await open([{ partials: ["…"] }, { hang: true }]);
  const cut: AgentEvent[] = [];
  for await (const event of invokeOf(closing.agent).invoke({ session: "s" }, { text: "x" })) {
    cut.push(event);
    if (event.type === "text") void closing.close({ patienceMs: 0 });
  }
  expect(cut.at(-1)).toMatchObject({ type: "failed", code: "interrupted" });
});

test("[I8] a request id that was used follows its command: running to its end, settled with its answer", async () => {
  let runs = 0;
  const gate = Promise.withResolvers<void>();
  await using opened = await open(() => {
    runs++;
    return [{ partials: ["Hel"] }, { gate: gate.promise }, { say: "Hello." }];
  });
  const request = { session: "s", text: "x", requestId: "r" };
  const first = pushed();
  await invoke(opened.agent, request, first.sink);
  const second = pushed();
  await invoke(opened.agent, request, second.sink);
  gate.resolve();
  for (const { ended } of [first, second]) expect(textOf(await ended)).toBe("Hello.");
  const third = pushed();
  await invoke(opened.agent, request, third.sink);
  expect((await third.ended).map(({ type }) => type)).toEqual(["text", "completed"]);
  expect(runs).toBe(1);
  await expect(
    invoke(opened.agent, { ...request, text: "y" }, pushed().sink),
  ).rejects.toMatchObject({ code: "conflict" });
});

test("[I9] a reader that takes one event at a time loses none of a run that wrote a thousand entries meanwhile", async () => {
  const rounds = 300;
  await using opened = await open([
    ...Array.from({ length: rounds }, (_, n) => ({
      calls: [{ name: "step", input: { n }, label: "read" as const, effect: () => String(n) }],
    })),
    { say: "Done." },
  ]);
  const gate = Promise.withResolvers<void>();
  const events: AgentEvent[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const invocation = await invoke(
    opened.agent,
    { session: "s", text: "x" },
    {
      event: (event) => {
        events.push(event);
        void (events.length === 1 ? gate.promise : Promise.resolve()).then(() =>
          invocation.resume(),
        );
        return false;
      },
      end: resolve,
    },
  );
  await opened.agent.session("s").readSettlement(invocation.commandId, { timeoutMs: 30_000 });
  gate.resolve();
  await ended;
  const args = events.flatMap((event) => (event.type === "tool_started" ? [event.args] : []));
  expect(args).toEqual(Array.from({ length: rounds }, (_, n) => ({ n })));
  expect(events.filter(({ type }) => type === "tool_ended")).toHaveLength(rounds);
  expect(events.at(-1)?.type).toBe("completed");
});

test("[I10] leaving continues or cancels the command, as the request says", async () => {
  const gate = Promise.withResolvers<void>();
  await using opened = await open([{ partials: ["a"] }, { gate: gate.promise }, { say: "ab" }]);
  const stay = pushed();
  const staying = await invoke(opened.agent, { session: "s", text: "x" }, stay.sink);
  await stay.first;
  await staying.leave();
  const go = pushed();
  const going = await invoke(
    opened.agent,
    { session: "t", text: "x", onDisconnect: "cancel" },
    go.sink,
  );
  await go.first;
  await going.leave();
  gate.resolve();
  const settled = (session: string, commandId: string) =>
    opened.agent.session(session).readSettlement(commandId, { timeoutMs: 30_000 });
  expect(await settled("s", staying.commandId)).toMatchObject({ terminal: "completed" });
  expect(await settled("t", going.commandId)).toMatchObject({ terminal: "cancelled" });
  expect(stay.events).toHaveLength(1);
  expect(go.events).toHaveLength(1);
});

test("[I10] a stream that nobody began admits nothing", async () => {
  await using opened = await open([{ say: "x" }]);
  const events = invokeOf(opened.agent).invoke({ session: "s" }, { text: "x" });
  await events[Symbol.asyncIterator]().return?.();
  await expect(opened.agent.session("s").info()).rejects.toMatchObject({ code: "unknown_session" });
});

test("[I1] an engine that breaks is a failed event", async () => {
  const broken: Engine = scriptedEngine([{ throws: "broken" }]);
  await using opened = await openAgent({ engine: broken, report: () => {} });
  const events = await all(invokeOf(opened.agent).invoke({ session: "s" }, { text: "x" }));
  expect(events).toMatchObject([{ type: "failed" }]);
});

function pushed() {
  const events: AgentEvent[] = [];
  const first = Promise.withResolvers<void>();
  const end = Promise.withResolvers<AgentEvent[]>();
  return {
    events,
    first: first.promise,
    ended: end.promise,
    sink: {
      event: (event: AgentEvent) => {
        events.push(event);
        first.resolve();
        return true;
      },
      end: () => end.resolve(events),
    },
  };
}
