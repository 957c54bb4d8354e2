import type { Approval, Json } from "@lichen/wire";
import { expect, test } from "vitest";
import { approvalLines } from "../src/chat/show/approval.ts";
import { themeOf } from "../src/chat/show/theme.ts";
import { bare, numbered } from "./chat-show-story.ts";

const plain = themeOf("light", "none");

function asked(tool: string, input: Json, more: Partial<Approval> = {}): Approval {
  return {
    approvalId: "x",
    commandId: "c",
    kind: "tool",
    tool,
    input,
    digest: "d",
    askedAt: "",
    expiresAt: "",
    state: "pending",
    ...more,
  };
}

const shown = (approval: Approval, width = 60, rows = 20): string[] =>
  bare(approvalLines(approval, plain, width, rows));

test("[U28] what is asked is shown as it would run: a command as it is, an edit as a diff, the rest by name", () => {
  const bash = asked(
    "bash",
    { command: "rm -rf build\nmake", timeout: 60 },
    { description: "It cleans." },
  );
  expect(shown(bash)).toEqual([
    "? bash asks to run",
    "  It cleans.",
    "│ rm -rf build",
    "│ make",
    "│ timeout: 60",
  ]);
  const edits = [{ oldText: "a", newText: "b" }];
  expect(shown(asked("edit", { path: "x.ts", edits, force: true }))).toEqual([
    "? edit asks to run",
    "│ x.ts",
    "│ - a",
    "│ + b",
    "│ force: true",
  ]);
  expect(shown(asked("write", { path: "x.md", content: "one\ntwo" }))).toEqual([
    "? write asks to run",
    "│ x.md",
    "│ 1 + one",
    "│ 2 + two",
  ]);
  const mail = { to: ["a@b", "c@d"], body: "Dear\nall", urgent: false, none: null, at: {} };
  expect(
    shown(asked("mail", mail, { suggestions: [{ label: "mail to b" }, { tool: "mail" }] })),
  ).toEqual([
    "? mail asks to run",
    "│ to:",
    "│   - a@b",
    "│   - c@d",
    "│ body:",
    "│   Dear",
    "│   all",
    "│ urgent: false",
    "│ none: null",
    "│ at: (empty)",
    "  always: mail to b",
    '  always: {"tool":"mail"}',
  ]);
});

test("[U28] what would not be seen is shown as its number, and what does not fit is counted with its end shown", () => {
  const hidden = "ls \u202e# safe\u0007\u200b\u001b[8m; rm x\rls";
  expect(shown(asked("bash", { command: hidden }), 80)).toEqual([
    "? bash asks to run",
    "│ ls \\u{202e}# safe\\u{0007}\\u{200b}\\u{001b}[8m; rm x\\u{000d}ls",
  ]);
  const long = asked("bash", { command: `${numbered(40, "echo")}\nrm -rf /` });
  const rows = shown(long, 60, 10);
  expect(rows).toHaveLength(10);
  expect(rows[1]).toBe("│ echo 1");
  expect(rows.filter((line) => line.includes("more line"))).toEqual(["│ … 33 more lines"]);
  expect(rows.at(-1)).toBe("│ rm -rf /");
  expect(shown(long, 60, 60)).toHaveLength(42);
});

test("[U28] nothing of an input is left out, whatever else looks like an edit", () => {
  const piece = { oldText: "a", newText: "b" };
  for (const [tool, input] of [
    ["edit", { path: "x", edits: [{ ...piece, run: "SECRET" }] }],
    ["edit", { path: "x", edits: [{ ...piece, replaceAll: "SECRET" }] }],
    ["edit", { path: "x", edits: [piece], content: "SECRET" }],
    ["edit", { path: "x", edits: [piece], oldText: "SECRET" }],
    ["patch", { path: "x", ...piece, edits: ["SECRET"] }],
    ["patch", { path: "x", ...piece, replaceAll: "SECRET" }],
    ["write", { path: "x", content: "a", edits: [{ oldText: "SECRET", newText: "" }] }],
    ["bash", { command: "ls", cwd: "SECRET" }],
    ["bash", { command: { SECRET: 1 } }],
    ["edit", { path: { SECRET: 1 }, edits: [piece] }],
    ["edit", "SECRET"],
    ["edit", { path: "x", edits: [piece, { oldText: "c", newText: 5, SECRET: 1 }] }],
  ] satisfies [string, Json][])
    expect(shown(asked(tool, input)).join("\n")).toContain("SECRET");
});

test("[U28] however few rows there are, what would run is shown or counted, before what is said of it", () => {
  const description = "It is harmless. ".repeat(60);
  const command = "echo one\necho two\nrm -rf /";
  const suggestions = ["a", "b", "c", "d"];
  for (let rows = 1; rows <= 30; rows++) {
    const lines = shown(asked("bash", { command }, { description, suggestions }), 60, rows);
    expect(lines.length).toBeLessThanOrEqual(rows);
    const isWhole = command.split("\n").every((line) => lines.includes(`│ ${line}`));
    const isCounted = lines.some((line) => /^(│ … \d more lines?|\? .*\(3 lines\))$/.test(line));
    expect(isWhole || isCounted).toBe(true);
    if (rows >= 8) expect(isWhole).toBe(true);
  }
});

test("[U28] a question is shown with what can be answered", () => {
  const questions = [
    { question: "Which one?", options: ["left", { label: "right", description: "the other" }] },
    "Why?",
  ];
  expect(shown({ ...asked("ask", null), kind: "question", questions })).toEqual([
    "? A question for you",
    "│ Which one?",
    "│ 1. left",
    "│ 2. right: the other",
    "│ Why?",
  ]);
});
