import { canonicalJson, type Entry, noUsage } from "@lichen/wire";
import { expect, test } from "vitest";
import type { Account } from "../src/crashtest/job.ts";
import { judge } from "../src/crashtest/judge.ts";
import type { Seen } from "../src/crashtest/witness.ts";

const at = "2026-01-01T00:00:00.000Z";
const queued: Entry = {
  seq: 1,
  id: "i1",
  at,
  kind: "command.queued",
  requestId: "prompt",
  data: {},
};
const answered: Entry = { seq: 2, id: "i2", at, kind: "message.user", data: { text: "hi" } };
const none = { lost: [], repeated: [], unfinished: [], unknown: [] };

function accountOf(entries: readonly Entry[], more: Partial<Account> = {}): Account {
  return {
    ...{ epoch: "one", entries, writes: [], effects: [], answers: [] },
    settlement: {
      commandId: "c",
      terminal: "completed",
      answer: "",
      usage: noUsage,
      toolCalls: 0,
      at,
    },
    ...more,
  };
}

function delivered(entry: Entry): Seen {
  const { seq, kind } = entry;
  return { saw: "entry", epoch: "one", seq, kind, text: canonicalJson(entry) };
}

function receipt(requestId: string, answer: string): Seen {
  return { saw: "receipt", requestId, answer };
}

function effect(call: string, replaySafe: boolean): Seen {
  return { saw: "effect", call, tool: "pay", label: "write", replaySafe };
}

test("[Y4] what was answered and delivered and is there again is not lost", () => {
  const seen = [
    receipt("create", "{}"),
    receipt("prompt", "c"),
    delivered(queued),
    delivered(answered),
  ];
  expect(judge(seen, accountOf([queued, answered]))).toEqual(none);
  expect(judge([...seen, receipt("prompt", "c")], accountOf([queued, answered]))).toEqual(none);
});

test("[Y4] an entry that was delivered is lost where it is missing, is another one, or its log began anew", () => {
  const seen = [delivered(queued), delivered(answered), delivered(answered)];
  const lost = (account: Account) => judge(seen, account).lost;
  expect(lost(accountOf([queued]))).toEqual(["entry 2 (message.user) was delivered and is gone"]);
  expect(lost(accountOf([queued, { ...answered, data: { text: "ho" } }]))).toEqual([
    "entry 2 (message.user) was delivered and is another one",
  ]);
  expect(lost(accountOf([queued, answered], { epoch: "two" }))).toHaveLength(2);
});

test("[Y4] a command is lost where it is missing from the log or is answered otherwise when sent again", () => {
  expect(judge([receipt("prompt", "c")], accountOf([])).lost).toEqual([
    "prompt was answered and is not in the log",
  ]);
  expect(judge([receipt("prompt", "c"), receipt("prompt", "d")], accountOf([queued])).lost).toEqual(
    ["prompt was answered c, and d when it was sent again"],
  );
});

test("[Y6] an approval's answer is kept by its entry", () => {
  const seen = [receipt("answer:apr_1", "{}")];
  const kept: Entry = { ...answered, kind: "approval.answered", data: { approvalId: "apr_1" } };
  expect(judge(seen, accountOf([queued, kept]))).toEqual(none);
  expect(judge(seen, accountOf([queued])).lost).toHaveLength(1);
});

test("[Y4] a command that stands in the log twice is repeated", () => {
  expect(judge([], accountOf([queued, { ...queued, seq: 2 }])).repeated).toEqual([
    "prompt was admitted 2 times",
  ]);
});

test("[Y2] a write that must run once is repeated as soon as it begins again; a replay-safe one where it changes the folder again", () => {
  const repeated = (seen: Seen[]) => judge(seen, accountOf([queued])).repeated;
  expect(repeated([effect("a/0", false), effect("a/1", false)])).toEqual([]);
  expect(repeated([effect("a/0", false), effect("a/0", false)])).toEqual([
    "pay ran 2 times for one call (a/0)",
  ]);
  expect(repeated([effect("a/0", true), effect("a/0", true)])).toEqual([]);
  expect(repeated([{ saw: "return", call: "a/0", tool: "pay", hasChanged: true }])).toHaveLength(1);
});

test("[Y3] an interrupted write and an unknown outcome are unknown, and nothing else", () => {
  const data = { assistant: "m", index: 0, callId: "1", name: "pay", content: [], isError: true };
  const tool: Entry = {
    seq: 2,
    id: "i2",
    at,
    kind: "message.tool",
    data: { ...data, interrupted: true },
  };
  const { settlement } = accountOf([]);
  const unknown = accountOf([queued, tool], {
    settlement: { ...settlement!, terminal: "outcome_unknown" },
  });
  expect(judge([], unknown)).toEqual({
    ...none,
    unknown: ["pay was interrupted (m/0)", "the command's outcome is unknown"],
  });
});

test("[Y3] an interrupted write of a program's own is unknown as well", () => {
  const call = { assistant: "m", index: 0, ordinal: 3, operation: "shop.pay", ok: false };
  const outcome: Entry = {
    seq: 2,
    id: "i2",
    at,
    kind: "program.outcome",
    data: { ...call, code: "interrupted", interrupted: true },
  };
  expect(judge([], accountOf([queued, outcome]))).toEqual({
    ...none,
    unknown: ["shop.pay was interrupted (m/0/3)"],
  });
});

test("[Y5] a command without a settlement is unfinished", () => {
  const { settlement: _, ...open } = accountOf([queued]);
  expect(judge([], open).unfinished).toEqual(["the command did not settle in time"]);
});
