import { expect, test } from "vitest";
import {
  callOf,
  emptyBaseline,
  numbered,
  picture,
  shownOf,
  Story,
  streaming,
} from "./chat-show-story.ts";

test("[U20] messages are set apart by who said them, with their pictures and what they joined", () => {
  const story = new Story();
  story.add("message.user", { text: "Fix the **bug**\nplease", images: [picture] }, { by: "anna" });
  story.answers("I **will**:\n\n- look\n- mend");
  story.add("message.user", { text: "hurry", steers: "c1" });
  expect(shownOf(story.view())).toEqual([
    "",
    "▌ anna",
    "▌ Fix the **bug**",
    "▌ please",
    "▌ [image png 34 kB]",
    "",
    "  I will:",
    "",
    "  - look",
    "  - mend",
    "",
    "▌ joined what runs",
    "▌ hurry",
  ]);
});

test("[U20] what happened besides is told where it came", () => {
  const story = new Story();
  story.add("line", { text: "deployed\nby hand" }, { by: "ops" });
  story.add("run.recovered", { recoveries: 2 });
  story.add("session.changed", { model: "demo/x", title: "New", reasoning: "high", leaf: "e1" });
  story.add("compaction", { summary: "so\nfar", tokensBefore: 9, automatic: true });
  story.add("command.cancelled", { text: "later", was: "pending" });
  story.addUnknown("extension.x", { any: 1 });
  for (const terminal of ["failed", "cancelled", "interrupted", "outcome_unknown"] as const)
    story.add("run.settled", {
      terminal,
      answer: "",
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      toolCalls: 0,
      was: "running",
      ...(terminal === "failed" ? { diagnostic: "the key is missing" } : {}),
    });
  expect(shownOf(story.view())).toEqual([
    "",
    "» ops: deployed",
    "  by hand",
    "↻ goes on after a restart (2 times by now)",
    "· model → demo/x",
    "· reasoning → high",
    "",
    "── summed up for the model (2 lines, ctrl+o shows it) ──",
    "",
    "⊘ taken back before it ran:",
    "  later",
    "· an entry of the kind extension.x, which this version does not show",
    "✗ the run failed: the key is missing",
    "⊘ the run was cancelled",
    "! the run was interrupted",
    "! the run was interrupted, and nobody knows whether its last write happened",
  ]);
  expect(shownOf(story.view(), 80, true).join("\n")).toContain(
    "summed up for the model ──\n  so\n  far",
  );
  const anew = new Story();
  anew.says("old");
  anew.add("conversation.started", {});
  expect(shownOf(anew.view())).toEqual(["", "── a new conversation ──"]);
});

test("[U20] a question stands with its answer, or with why there is none", () => {
  const story = new Story();
  const ask = (approvalId: string): void => {
    story.add("approval.asked", {
      approvalId,
      kind: "question",
      digest: "d",
      questions: [{ question: "Which one?", options: ["left", "right"] }],
      expiresAt: "2026-02-01T00:00:00.000Z",
    });
  };
  ask("a");
  ask("b");
  ask("c");
  const answer = { allow: true, answers: { "Which one?": "left" }, digest: "d" };
  story.add("approval.answered", { approvalId: "a", ...answer }, { by: "anna" });
  story.add("approval.expired", { approvalId: "b" });
  expect(shownOf(story.view())).toEqual([
    "",
    "? Which one?",
    "→ left",
    "  anna",
    "",
    "? Which one?",
    "→ no answer in time",
    "",
    "? Which one?",
    "→ waits for your answer",
  ]);
});

test("[U20] an answer that was cut off or failed says so", () => {
  const story = new Story();
  story.add("message.assistant", { content: [{ type: "text", text: "and" }], stop: "length" });
  story.add("message.assistant", { content: [], stop: "error", error: "too busy" });
  expect(shownOf(story.view())).toEqual([
    "",
    "  and",
    "  [cut off: the answer reached the longest the model may give]",
    "",
    "  [the model call failed: too busy]",
  ]);
});

test("[U21] text that is kept beside the log is told with its size", () => {
  const story = new Story();
  const aside = { blob: "b".repeat(64), mimeType: "text/plain; charset=utf-8", bytes: 2_300_000 };
  story.add("message.user", { text: aside });
  const assistant = story.answers(callOf(0, "write", { path: "x", content: aside }));
  story.ends(assistant, 0, "write", "Created x");
  expect(shownOf(story.view(), 80, true)).toEqual([
    "",
    "▌ [2.3 MB of text in the log]",
    "",
    "✓ write x",
    "  │ path: x",
    "  │ content: [2.3 MB of text in the log]",
    "  │ Created x",
  ]);
  const calls = new Story();
  calls.answers(callOf(0, "bash", { command: aside }), callOf(1, "note", { text: [aside] }));
  expect(shownOf(calls.view(), 80)).toEqual([
    "",
    "○ bash [2.3 MB of text in the log]",
    '○ note {"text":["[2.3 MB of text in the log]"]}',
  ]);
});

test("[U21] older messages are said to be there while there are some", () => {
  const story = new Story();
  story.says("hi");
  expect(shownOf(story.view({ ...emptyBaseline, more: true }))).toEqual([
    "  older messages: scroll up",
    "",
    "▌ hi",
  ]);
});

test("[U23] a call tells how it stands, what it is about, how long it took and what it gave", () => {
  const story = new Story();
  story.begins();
  const assistant = story.answers(
    "Looking.",
    callOf(0, "bash", { command: "npm test\nls" }),
    callOf(1, "grep", { pattern: "a+", path: "src" }),
    callOf(2, "bash", { command: "sleep 9" }),
    callOf(3, "erase", { what: "all" }),
    callOf(4, "bash", { command: "reboot" }),
    callOf(5, "later", {}),
  );
  story.starts(assistant, 0, "bash");
  story.pace = 2_400;
  story.ends(assistant, 0, "bash", "1 passed\n");
  story.ends(assistant, 1, "grep", "not a regular expression", { isError: true });
  story.starts(assistant, 2, "bash");
  story.ends(assistant, 4, "bash", "The process died.", { isError: true, interrupted: true });
  story.add("approval.asked", {
    approvalId: "x",
    kind: "tool",
    assistant: assistant.id,
    index: 3,
    tool: "erase",
    input: { what: "all" },
    digest: "d",
    expiresAt: "2026-02-01T00:00:00.000Z",
  });
  const view = story.view();
  const rest = [
    "",
    "  Looking.",
    "",
    "✓ bash npm test ls · 2.4 s",
    "  │ 1 passed",
    "✗ grep a+ in src",
    "  │ not a regular expression",
    "▸ bash sleep 9",
    '? erase {"what":"all"} · waits for your answer',
    "! bash reboot · interrupted: its effect is unknown",
    "  │ The process died.",
    "○ later",
  ];
  expect(shownOf(view)).toEqual(rest);
  const live = streaming(view, { tool: { index: 2, name: "bash", output: numbered(10) } });
  expect(shownOf(live)).toEqual([
    ...rest.slice(0, 8),
    "  │ … 2 lines, ctrl+o shows all",
    ...numbered(10)
      .split("\n")
      .slice(2)
      .map((line) => `  │ ${line}`),
    ...rest.slice(8),
  ]);
});

test("[U23] a call that a person edited or denied says so", () => {
  const story = new Story();
  const assistant = story.answers(
    callOf(0, "bash", { command: "a" }),
    callOf(1, "bash", { command: "b" }),
  );
  for (const index of [0, 1])
    story.add("approval.asked", {
      approvalId: `x${index}`,
      kind: "tool",
      assistant: assistant.id,
      index,
      tool: "bash",
      digest: "d",
      expiresAt: "2026-02-01T00:00:00.000Z",
    });
  story.add("approval.answered", {
    approvalId: "x0",
    allow: true,
    digest: "d",
    input: { command: "c" },
  });
  story.add("approval.answered", { approvalId: "x1", allow: false, digest: "d" });
  expect(shownOf(story.view())).toEqual([
    "",
    "○ bash c · allowed · input edited",
    "⊘ bash b · denied",
  ]);
});
