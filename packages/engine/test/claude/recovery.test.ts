import type { Json } from "@lichen/wire";
import { expect, test } from "vitest";
import {
  type Evidence,
  fateOf,
  forgottenCalls,
  noteOf,
  unheard,
} from "../../src/claude/recovery.ts";

const prompt = { type: "user", uuid: "u", message: { role: "user", content: "go" } };
const taken = { ...prompt, isReplay: true };
const use = { type: "tool_use", id: "t1", name: "Bash", input: { command: "make" } };
const called = {
  type: "assistant",
  uuid: "a1",
  message: { content: [use], stop_reason: "tool_use" },
};
const came = { type: "tool_result", tool_use_id: "t1", content: "made", is_error: false };
const outcome = { type: "user", uuid: "a2", message: { role: "user", content: [came] } };
const said = (text: string, stop: string | null = "end_turn") => ({
  type: "assistant",
  uuid: `s-${text}`,
  message: { content: [{ type: "text", text }], stop_reason: stop },
});
const result = { type: "result", subtype: "success", is_error: false, result: "done" };
const lost = {
  ...came,
  content:
    "Tool permission request failed: Error: Tool permission stream closed before response received",
  is_error: true,
};

function evidence(lines: Json[], transcript: Json[], more: Partial<Evidence> = {}): Evidence {
  return { lines, transcript, messages: ["u"], known: new Set(), isCommand: false, ...more };
}

test("[CC20] a message that neither log nor transcript holds is missing, one of either kind of proof is not", () => {
  expect(fateOf(evidence([], []))).toEqual({ is: "open", missing: ["u"], lostApproval: false });
  expect(fateOf(evidence([], [prompt]))).toMatchObject({ is: "open", missing: [] });
  expect(fateOf(evidence([], [], { known: new Set(["u"]) }))).toMatchObject({ missing: [] });
  expect(fateOf(evidence([], [prompt], { messages: ["u", "steer"] }))).toMatchObject({
    is: "open",
    missing: ["steer"],
  });
});

test("[CC21] a turn is over by the result that was heard, or by a last answer in the transcript", () => {
  expect(fateOf(evidence([taken, result], []))).toMatchObject({ result: { text: "done" } });
  // A result from before the message was taken is another turn's.
  expect(fateOf(evidence([result, taken], [prompt]))).toMatchObject({ is: "open" });
  expect(fateOf(evidence([taken], [prompt, said("done")]))).toMatchObject({
    is: "over",
    result: { text: "done" },
  });
  expect(fateOf(evidence([taken], [prompt, said("half", null)]))).toMatchObject({ is: "open" });
  expect(fateOf(evidence([taken], [prompt, called, outcome]))).toMatchObject({ is: "open" });
  expect(
    fateOf(evidence([taken], [prompt, { ...said("API Error"), isApiErrorMessage: true }])),
  ).toMatchObject({ is: "open" });
  // Commands of Claude Code's own are never acknowledged.
  expect(fateOf(evidence([result], [], { isCommand: true }))).toMatchObject({ is: "over" });
});

test("[CC21] a lost permission keeps a turn open that ended by itself, until a note about it was taken", () => {
  const refused = { ...outcome, message: { role: "user", content: [lost] } };
  const transcript = [prompt, called, refused, said("refused")];
  expect(fateOf(evidence([taken], transcript))).toMatchObject({ is: "open", lostApproval: true });
  const note = { ...prompt, uuid: "n" };
  expect(
    fateOf(evidence([taken], [...transcript, note, said("all is well")], { messages: ["u", "n"] })),
  ).toMatchObject({ is: "over", result: { text: "all is well" } });
});

test("[CC22] what only the transcript holds is heard, what only the log holds is told as made already", () => {
  const missed = unheard(evidence([taken, called], [prompt, called, outcome]));
  expect(missed).toMatchObject([{ type: "user", uuid: "a2", parent_tool_use_id: null }]);
  const forgotten = forgottenCalls(evidence([taken, called, outcome], [prompt]));
  expect(forgotten).toMatchObject([{ name: "Bash", input: { command: "make" } }]);
  expect(forgottenCalls(evidence([taken, called, outcome], [prompt, called]))).toEqual([]);
  expect(noteOf({ lostApproval: false, unmade: [], unknown: [], forgotten })).toContain(
    'These calls were made already, though you may not remember them:\n- Bash {"command":"make"}',
  );
});
