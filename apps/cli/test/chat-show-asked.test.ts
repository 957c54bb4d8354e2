import type { Approval, Json } from "@lichen/wire";
import { expect, test } from "vitest";
import { questionsOf } from "../src/question.ts";
import { alwaysAsked, callAsked } from "../src/chat/show/approval.ts";
import { type Asked, excerpt, glance } from "../src/chat/show/asked.ts";
import { questionAsked, unreadAsked } from "../src/chat/show/question.ts";
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

const seen = (asked: Asked, width = 60, rows = 20): string[] =>
  bare(glance(asked, plain, width, rows).lines);

const shown = (approval: Approval, width = 60, rows = 20): string[] =>
  seen(callAsked(approval, plain, width), width, rows);

test("[U28] what is asked is shown as it would run: a command as it is, an edit as a diff, the rest by name", () => {
  const bash = asked(
    "bash",
    { command: "rm -rf build\nmake", timeout: 60 },
    { description: "It cleans." },
  );
  expect(shown(bash)).toEqual([
    "? bash asks to run",
    "│ rm -rf build",
    "│ make",
    "│ timeout: 60",
    "  It cleans.",
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
  expect(shown(asked("mail", mail))).toEqual([
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
  for (let rows = 1; rows <= 30; rows++) {
    const lines = shown(asked("bash", { command }, { description }), 60, rows);
    expect(lines.length).toBeLessThanOrEqual(rows);
    const isWhole = command.split("\n").every((line) => lines.includes(`│ ${line}`));
    const isCounted = lines.some((line) => /^(│ … \d+ more lines?|\? .*\(\d+ lines\))$/.test(line));
    expect(isWhole || isCounted).toBe(true);
    if (rows >= 8) expect(isWhole).toBe(true);
  }
});

test("[U28] what does not fit is read row for row, and what is above and below is counted", () => {
  const asks = callAsked(asked("bash", { command: numbered(40, "echo") }), plain, 40);
  const first = glance(asks, plain, 40, 6, " · page down");
  expect(bare(first.lines)).toEqual([
    "? bash asks to run",
    "│ echo 1",
    "│ echo 2",
    "│ echo 3",
    "│ … 36 more lines · page down",
    "│ echo 40",
  ]);
  expect(first.next).toBe(3);
  const from = (top: number): string[] => bare(excerpt(asks, plain, 40, 5, top).lines);
  expect(from(3)).toEqual([
    "? bash asks to run",
    "│ echo 4",
    "│ echo 5",
    "│ echo 6",
    "  … 3 above, 34 below",
  ]);
  expect(from(Infinity).slice(1)).toEqual([
    "│ echo 38",
    "│ echo 39",
    "│ echo 40",
    "  … 37 above, 0 below",
  ]);
});

test("[U28] nothing is left out of what is long, deep, or looks like what is kept beside the log", () => {
  const many = asked("mail", { body: `${numbered(5_000, "line")}\nSECRET` });
  expect(callAsked(many, plain, 60).body).toHaveLength(5_002);
  const deep = (depth: number): Json => (depth === 0 ? "SECRET" : [deep(depth - 1)]);
  expect(shown(asked("mail", deep(30)), 60, 99).join("")).toContain("SECRET");
  const lookalike = { blob: "SECRET", mimeType: "text/plain", bytes: 3, more: "ALSO" };
  const rows = shown(asked("mail", { to: lookalike })).join("\n");
  expect(rows).toContain("SECRET");
  expect(rows).toContain("ALSO");
  const padded = `rm -rf x${" ".repeat(200_000)}; evil`;
  expect(shown(asked("bash", { command: padded })).join("\n")).toContain(
    "rm -rf x\\u{0020}×200000; evil",
  );
});

test("[U28] a megabyte is read within seconds, whatever it is made of", () => {
  const size = 1_000_000;
  for (const piece of ["x", "\n", " x", "字", "\r"]) {
    const text = `${piece.repeat(size / piece.length)}SECRET`;
    for (const asks of [
      callAsked(asked("bash", { command: text }), plain, 40),
      callAsked(asked("write", { path: "x", content: text }), plain, 40),
    ])
      expect(asks.body.slice(-3).join("").replaceAll(/\s/g, "")).toContain("SECRET");
  }
}, 60_000);

test("[U28] what always would mean is shown as rule and scope, and nothing of it is left out", () => {
  const rule = { toolName: "Bash", ruleContent: "npm test:*" };
  const suggestions = [
    {
      type: "addRules",
      rules: [rule, { toolName: "Read" }],
      behavior: "allow",
      destination: "localSettings",
    },
    { type: "setMode", mode: "acceptEdits", destination: "session" },
    { label: "mail to b", scope: "for\u202ever" },
    "as it is",
    { rules: [{ ...rule, SECRET: 1 }] },
    { label: { SECRET: 2 }, destination: "elsewhere" },
  ];
  expect(seen(alwaysAsked(asked("Bash", null, { suggestions }), plain, 60), 60, 40)).toEqual([
    "? Bash: allowed without asking from now on",
    "│ • addRules allow Bash(npm test:*)",
    "│   addRules allow Read, whatever its input",
    "│   scope: this project, for you (localSettings)",
    "│ • type: setMode",
    "│   mode: acceptEdits",
    "│   scope: this session (session)",
    "│ • mail to b",
    "│   scope: for\\u{202e}ver",
    "│ • as it is",
    "│ • rules:",
    "│     -",
    "│       toolName: Bash",
    "│       ruleContent: npm test:*",
    "│       SECRET: 1",
    "│ • label:",
    "│     SECRET: 2",
    "│   scope: elsewhere",
  ]);
});

test("[U28] a question comes first, then what is said of it; options that a row cannot show stand whole", () => {
  const long = "a ".repeat(60).trim();
  const questions = [
    {
      question: "Which\u202e one?",
      header: "Way",
      options: ["left", { label: long, description: "the long one" }, "two\nlines\u200b"],
    },
    { ask: "Why?" },
  ];
  const approval: Approval = {
    ...asked("ask", null, { description: "Much is said of it. ".repeat(40), questions }),
    kind: "question",
  };
  const [question] = questionsOf(approval);
  const asks = questionAsked(approval, question!, "1/2 ", plain, 40);
  const rows = seen(asks, 40, 12);
  expect(rows).toHaveLength(12);
  expect(rows[0]).toBe("? 1/2 Way: Which\\u{202e} one?");
  const options = asks.body.map((line) => line.trim()).join(" ");
  expect(options).toBe(`2 ${long}: the long one 3 two lines\\u{200b}`);
  expect(rows.some((line) => /^ {2}Much is said/.test(line))).toBe(true);
  expect(
    seen(unreadAsked({ ...approval, questions: [{ ask: "Why?" }] }, plain, 40), 40, 4),
  ).toEqual(expect.arrayContaining(["? A question for you", "│ ask: Why?"]));
});
