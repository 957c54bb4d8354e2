import type { AgentEvent, Usage } from "@lichen/wire";
import { expect, test } from "vitest";
import { CommandEvents } from "../../src/invoke/command-events.ts";
import type { Step } from "../../src/invoke/step.ts";

const said = (text: string, thinking = ""): Step => ({
  type: "said",
  entry: "ent_1",
  thinking,
  text,
  calls: [],
});
const usage: Usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, cost: 0.5 };
const settled = (
  terminal: "completed" | "failed" | "interrupted" | "outcome_unknown",
  answer = "",
  retryable?: boolean,
): Step => ({
  type: "settled",
  terminal,
  answer,
  usage,
  diagnostic: undefined,
  retryable,
});
const deltas = (events: AgentEvent[]) =>
  events.flatMap((event) => ("delta" in event ? [`${event.type}:${event.delta}`] : []));

test("[I4] skipped and repeated partials add exactly what is new, thinking apart from text", () => {
  const events = new CommandEvents();
  expect(deltas(events.partial({ thinking: "Hm" }))).toEqual(["thinking:Hm"]);
  expect(deltas(events.partial({ thinking: "Hm, so", text: "A" }))).toEqual([
    "thinking:, so",
    "text:A",
  ]);
  expect(events.partial({ thinking: "Hm, so", text: "A" })).toEqual([]);
  expect(deltas(events.step(said("A bee", "Hm, so.")))).toEqual(["thinking:.", "text: bee"]);
  expect(deltas(events.step(said("Next")))).toEqual(["text:Next"]);
});

test("[I4] a partial that arrives after its own message adds nothing, and one of the next message is not lost", () => {
  const events = new CommandEvents();
  events.partial({ text: "One two" });
  events.step(said("One two three."));
  expect(events.partial({ text: "One two" })).toEqual([]);
  expect(events.partial({ text: "On" })).toEqual([]);
  expect(deltas(events.partial({ text: "Only now" }))).toEqual(["text:Only now"]);
  expect(events.step(said("Only now"))).toEqual([]);
  expect(events.partial({ text: "Only" })).toEqual([]);
  expect(deltas(events.step(said("Only")))).toEqual(["text:Only"]);
});

test("[I4] an answer that stands in no message is emitted, and only then", () => {
  const spoken = new CommandEvents();
  spoken.step(said("Hello."));
  expect(spoken.step(settled("completed", "Hello."))).toEqual([
    { type: "completed", data: { usage } },
  ]);
  expect(deltas(new CommandEvents().step(settled("completed", "Compacted.")))).toEqual([
    "text:Compacted.",
  ]);
});

test("[I5] a call that was refused before it began still starts before it ends", () => {
  const events = new CommandEvents();
  events.step({
    ...said(""),
    calls: [{ index: 0, callId: "c", name: "look", input: { at: "x" } }],
  } as Step);
  const ended: Step = {
    type: "ended",
    assistant: "ent_1",
    index: 0,
    callId: "c",
    name: "look",
    isError: true,
    content: [],
    details: null,
  };
  expect(events.step(ended)).toEqual([
    { type: "tool_started", id: "c", name: "look", args: { at: "x" } },
    { type: "tool_ended", id: "c", isError: true, content: { content: [], details: null } },
  ]);
});

test("[I5] arguments that a person edited are the ones that are told", () => {
  const events = new CommandEvents();
  events.step({
    ...said(""),
    calls: [{ index: 0, callId: "c", name: "pay", input: { sum: 9 } }],
  } as Step);
  const began: Step = {
    type: "began",
    assistant: "ent_1",
    index: 0,
    callId: "c",
    name: "pay",
    input: { sum: 1 },
  };
  expect(events.step(began)).toMatchObject([{ type: "tool_started", args: { sum: 1 } }]);
});

test("[I7] each attempt is told once, and each unhappy end by its code", () => {
  const events = new CommandEvents();
  const retrying = { attempt: 2, maxAttempts: 4, delayMs: 1_000, reason: "overloaded" };
  expect(events.partial({ retrying })).toEqual([{ type: "retrying", ...retrying }]);
  expect(events.partial({ retrying })).toEqual([]);
  expect(events.partial({ retrying: { ...retrying, attempt: 3 } })).toHaveLength(1);
  expect(events.step(settled("interrupted"))).toMatchObject([
    { code: "interrupted", retryable: true },
  ]);
  expect(events.step(settled("outcome_unknown"))).toMatchObject([
    { code: "outcome_unknown", retryable: false },
  ]);
});

test("[I7] a failure of load or of the network may pass, one of the request does not", () => {
  for (const retryable of [true, undefined] as const)
    expect(new CommandEvents().step(settled("failed", "", retryable))).toMatchObject([
      { type: "failed", retryable: retryable === true },
    ]);
});
