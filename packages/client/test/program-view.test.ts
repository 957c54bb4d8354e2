import type { Entry, Json } from "@lichen/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CallView, ViewFold, viewOf } from "../src/index.ts";
import { baselineAt } from "./hand-host.ts";

const at = "2026-01-01T00:00:00.000Z";

/** Numbers what a log would. */
function logged(steps: readonly Pick<Entry, "kind" | "data">[]): Entry[] {
  return steps.map(({ kind, data }, index) => ({
    seq: index + 1,
    id: `ent_${index + 1}`,
    at,
    kind,
    commandId: "cmd_1",
    data,
  }));
}

const program = { assistant: "ent_1", index: 0 };
const message = {
  kind: "message.assistant",
  data: {
    content: [
      {
        type: "call",
        index: 0,
        callId: "c",
        name: "execute",
        input: { code: "await notes.add({})" },
      },
    ],
    stop: "calls",
  },
};
const started = [
  message,
  {
    kind: "call.started",
    data: {
      ...program,
      callId: "c",
      name: "execute",
      label: "read",
      replaySafe: true,
      digest: "d",
    },
  },
  { kind: "program.started", data: { ...program, seed: "00" } },
];

function called(ordinal: number, operation = "notes.add"): Pick<Entry, "kind" | "data"> {
  return {
    kind: "program.call",
    data: {
      ...program,
      ordinal,
      operation,
      capability: "notes",
      label: "write",
      replaySafe: false,
      digest: "d",
      input: { at: ordinal },
    },
  };
}

function came(ordinal: number, outcome: { [name: string]: Json }): Pick<Entry, "kind" | "data"> {
  return {
    kind: "program.outcome",
    data: { ...program, ordinal, operation: "notes.add", ...outcome },
  };
}

function asked(ordinal: number): Pick<Entry, "kind" | "data"> {
  return {
    kind: "approval.asked",
    data: {
      ...program,
      ordinal,
      approvalId: `apr_${ordinal}`,
      kind: "tool",
      tool: "notes.add",
      input: { at: ordinal },
      digest: "d",
      expiresAt: at,
    },
  };
}

function answered(ordinal: number, allow: boolean): Pick<Entry, "kind" | "data"> {
  return {
    kind: "approval.answered",
    data: { approvalId: `apr_${ordinal}`, allow, digest: "d" },
  };
}

function callIn(steps: readonly Pick<Entry, "kind" | "data">[]): CallView {
  const [item] = viewOf(baselineAt(0), logged(steps)).items;
  if (item?.type !== "assistant") throw new Error("There is no message.");
  return item.calls[0]!;
}

test("[N60] a program's call holds the calls it made, in their order, each with its input and how it stands", () => {
  const call = callIn([
    ...started,
    called(0),
    called(1, "mail.send"),
    came(1, { ok: false, code: "http_500", message: "it broke" }),
    came(0, { ok: true, value: { id: 7 } }),
    called(2),
    came(2, { ok: false, code: "interrupted", message: "unknown", interrupted: true }),
    called(3),
  ]);
  expect(call).toMatchObject({ name: "execute", state: "running" });
  expect(call.calls).toMatchObject([
    {
      ordinal: 0,
      operation: "notes.add",
      capability: "notes",
      label: "write",
      input: { at: 0 },
      state: "done",
      value: { id: 7 },
      startedAt: at,
      endedAt: at,
    },
    { ordinal: 1, state: "failed", code: "http_500", message: "it broke" },
    { ordinal: 2, state: "interrupted" },
    { ordinal: 3, state: "running" },
  ]);
});

test("[N60] a call that is no program holds no calls, and a program without any an empty list", () => {
  expect(callIn(started).calls).toEqual([]);
  expect(callIn([message]).calls).toBeUndefined();
});

test("[N61] an approval of a program's call belongs to that call: it waits, and the program runs on", () => {
  const waiting = callIn([...started, asked(0), asked(1)]);
  expect(waiting).toMatchObject({ name: "execute", state: "running" });
  expect(waiting.approvalId).toBeUndefined();
  expect(waiting.calls).toMatchObject([
    { ordinal: 0, state: "waiting", approvalId: "apr_0", operation: "notes.add" },
    { ordinal: 1, state: "waiting", approvalId: "apr_1" },
  ]);
  const decided = callIn([
    ...started,
    asked(0),
    asked(1),
    answered(1, true),
    called(1),
    answered(0, false),
    came(0, { ok: false, code: "denied", message: "rather not" }),
  ]);
  expect(decided).toMatchObject({ name: "execute", state: "running" });
  expect(decided.calls).toMatchObject([
    { ordinal: 0, state: "denied", approvalId: "apr_0" },
    { ordinal: 1, state: "running", approvalId: "apr_1" },
  ]);
});

test("[N60] of a large value the view keeps the beginning", () => {
  const value = { text: "ä".repeat(100_000) };
  const [call] = callIn([...started, called(0), came(0, { ok: true, value })]).calls!;
  expect(call!.isCut).toBe(true);
  expect(call!.value).toBe(JSON.stringify(value).slice(0, 4_096));
});

test("[N62] whatever order the calls of programs come in, the view entry by entry, from any baseline, is the view at once", () => {
  const step = fc.tuple(
    fc.constantFrom("asked", "answered", "called", "came"),
    fc.nat({ max: 4 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.nat(), (steps, cut) => {
      const entries = logged([
        ...started,
        ...steps.map(([kind, ordinal, flag]) =>
          kind === "asked"
            ? asked(ordinal)
            : kind === "answered"
              ? answered(ordinal, flag)
              : kind === "called"
                ? called(ordinal)
                : came(ordinal, flag ? { ok: true, value: ordinal } : { ok: false, code: "x" }),
        ),
      ]);
      const start = baselineAt(0);
      const whole = viewOf(start, entries);
      const fold = new ViewFold();
      fold.take({ type: "baseline", id: "", data: start });
      for (const [index, data] of entries.entries()) {
        fold.take({ type: "entry", id: "", data });
        expect(fold.view).toEqual(viewOf(start, entries.slice(0, index + 1)));
      }
      expect(fold.view).toEqual(whole);
      const known = cut % (entries.length + 1);
      const baseline = { ...start, head: known, entries: entries.slice(0, known) };
      expect(viewOf(baseline, entries.slice(known)).items).toEqual(whole.items);
      const ordinals = fold.view!.items.flatMap((item) =>
        item.type === "assistant"
          ? item.calls.flatMap((call) => (call.calls ?? []).map((it) => it.ordinal))
          : [],
      );
      expect(ordinals).toEqual([...new Set(ordinals)].toSorted((a, b) => a - b));
    }),
    { numRuns: 150 },
  );
});

test("[N67] what a call answered is shown as its code got it, without the images and the display that the log keeps beside it", () => {
  const $answered = {
    value: { image: 1 },
    images: [{ number: 1, mediaType: "image/png", data: "AAAA" }],
    display: [{ type: "markdown", text: "Hi" }],
  };
  const { calls = [] } = callIn([
    ...started,
    called(0),
    came(0, { ok: true, value: { $answered } }),
    called(1),
    came(1, { ok: true, value: { $answered: { display: [] } } }),
    called(2),
    came(2, { ok: true, value: { $answered: 1, mine: 2 } }),
  ]);
  expect(calls.map(({ value }) => value)).toEqual([
    { image: 1 },
    undefined,
    { $answered: 1, mine: 2 },
  ]);
});
