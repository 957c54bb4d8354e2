import { visibleWidth } from "@earendil-works/pi-tui";
import type { Approval, Json } from "@lichen/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { alwaysAsked, callAsked, callBegun } from "../src/chat/show/approval.ts";
import { type Asked, excerpt, glance } from "../src/chat/show/asked.ts";
import { questionsOf } from "../src/question.ts";
import { bannerLine } from "../src/chat/show/banner.ts";
import { footerLines } from "../src/chat/show/footer.ts";
import { questionAsked, unreadAsked } from "../src/chat/show/question.ts";
import { queueLines } from "../src/chat/show/queue.ts";
import { themeOf } from "../src/chat/show/theme.ts";
import { Transcript } from "../src/chat/show/transcript.ts";
import { callOf, picture, shownOf, Story, streaming } from "./chat-show-story.ts";

const theme = themeOf("dark", "truecolor");

/** Pieces that terminals, wrapping and Markdown stumble over. */
const piece = fc.oneof(
  fc.constantFrom(
    "漢字",
    "ｆｕｌｌ",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "🇩",
    "e\u0301\u0302",
    "\u0301",
    "नि",
    "กำ",
    "한",
    "\u1112\u1161",
    "❤️",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u001b[31m",
    "\u001b[2J",
    "\u001b]0;title\u0007",
    "\u001b]8;;http://evil\u001b\\",
    "\u001b_Gi=1;AAAA\u001b\\",
    "\u001b",
    "\u009b1A",
    "\u202e",
    "\u2066",
    "\ud800",
    "\ufeff",
    "\u2028",
    "&#27;[2J",
    "# ",
    "> ",
    "- ",
    "1. ",
    "```",
    "`",
    "**",
    "| a | b |\n|---|---|\n| c | d |\n",
    "[x](http://a.b)",
    "<b>",
    "$x^2$",
    "$$\n\\frac{a}{b}\n$$",
    "▌ ",
    "✓ bash",
    "    ",
    "x".repeat(90),
    "字".repeat(40),
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ maxLength: 20 }),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const width = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 200 }));

function everything(said: string): Story {
  const story = new Story();
  story.add(
    "message.user",
    { text: said, images: [{ ...picture, mimeType: `image/${said}` }] },
    { by: said },
  );
  story.add("line", { text: said }, { by: said });
  const change = { path: said, edits: [{ oldText: said, newText: `${said}\nmore` }] };
  const assistant = story.answers(
    { type: "thinking", text: said },
    said,
    callOf(0, said, { command: said, [said]: [said, { [said]: said }] }),
    callOf(1, "edit", change),
    callOf(2, "write", { path: said, content: said }),
    callOf(3, "bash", { command: said }),
    callOf(4, "bash", said),
    callOf(5, "execute", { code: said }),
  );
  const program = { assistant: assistant.id, index: 5 };
  story.add("program.started", { ...program, seed: said });
  const inner = { operation: said, capability: said, label: "write" as const, replaySafe: false };
  for (const ordinal of [0, 1, 2])
    story.add("program.call", {
      ...program,
      ...inner,
      ordinal,
      digest: "d",
      input: { [said]: said },
    });
  const came = { ...program, operation: said };
  story.add("program.outcome", { ...came, ordinal: 0, ok: true, value: { [said]: said } });
  story.add("program.outcome", { ...came, ordinal: 1, ok: false, code: said, message: said });
  story.ends(assistant, 0, said, said, { isError: true });
  story.ends(assistant, 1, "edit", said, { data: { diff: `@@ -1,2 +1,2 @@\n-${said}\n+${said}` } });
  story.starts(assistant, 3, "bash");
  story.add("compaction", { summary: said, tokensBefore: 1, automatic: false });
  story.add("session.changed", { title: said, model: said, tools: [said] });
  story.add("command.cancelled", { text: said, was: "pending" });
  story.addUnknown(`extension.${said}`, { said });
  const questions = [
    { question: said, options: [said, { label: said, description: said }] },
    said,
    { [said]: said },
  ];
  const expiresAt = "2026-02-01T00:00:00.000Z";
  story.add("approval.asked", {
    approvalId: "q",
    kind: "question",
    digest: "d",
    questions,
    description: said,
    expiresAt,
  });
  story.add(
    "approval.answered",
    { approvalId: "q", allow: true, answers: { [said]: said }, message: said, digest: "d" },
    { by: said },
  );
  return story;
}

function approvalOf(kind: Approval["kind"], tool: string, input: Json, said: string): Approval {
  return {
    approvalId: "x",
    commandId: "c",
    kind,
    tool,
    input,
    digest: "d",
    description: said,
    suggestions: [said, { label: said }, { said }, said],
    questions: [
      { question: said, header: said, options: [said, { label: said, description: said }] },
      said,
      { said },
    ],
    askedAt: "",
    expiresAt: "",
    state: "pending",
  };
}

/** All that can be put to a person of an approval. */
function asksOf(approval: Approval, columns: number): Asked[] {
  return approval.kind === "question"
    ? [
        unreadAsked(approval, theme, columns),
        ...questionsOf(approval).map((it) => questionAsked(approval, it, "1/2 ", theme, columns)),
      ]
    : [
        callAsked(approval, theme, columns),
        callBegun(approval, theme, columns),
        alwaysAsked(approval, theme, columns),
      ];
}

/** Of escape sequences only ours: colours, the marker of a message, a link's bounds. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ourSequences = /\u001b(?:\[[\d;]*m|\]133;A\u0007|\]8;;[^\u001b\u0007]*\u001b\\)/g;
const steering =
  // oxlint-disable-next-line no-control-regex -- the same
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

function expectSafe(lines: readonly string[], columns: number): void {
  for (const line of lines) {
    expect(visibleWidth(line)).toBeLessThanOrEqual(columns);
    expect(line.replace(ourSequences, "")).not.toMatch(steering);
    expect(line.isWellFormed()).toBe(true);
  }
}

test("[U22] whatever is written, no line is wider than the screen and nothing steers the terminal", () => {
  fc.assert(
    fc.property(text, width, fc.boolean(), (said, columns, isUnfolded) => {
      const view = everything(said).view();
      const transcript = new Transcript(theme);
      transcript.isUnfolded = isUnfolded;
      transcript.show(view);
      expectSafe(transcript.render(columns), columns);
      const tool = { index: 3, name: said, output: said, argsText: `{"command":"${said}` };
      const retrying = { attempt: 1, maxAttempts: 3, delayMs: 500, reason: said };
      transcript.show(streaming(view, { text: said, thinking: said, tool, retrying }));
      expectSafe(transcript.render(columns), columns);
      transcript.show(streaming(view, { thinking: said }));
      expectSafe(transcript.render(columns), columns);
    }),
    { numRuns: 100 },
  );
}, 120_000);

test("[U22] what stands around the conversation is no wider than the screen either", () => {
  fc.assert(
    fc.property(text, width, fc.integer({ min: 1, max: 40 }), (said, columns, rows) => {
      const inputs: [string, Json][] = [
        ["bash", { command: said, timeout: 3, [said]: said }],
        ["edit", { path: said, edits: [{ oldText: said, newText: "" }] }],
        ["write", { path: said, content: said }],
        [said, { [said]: [said] }],
        [said, said],
      ];
      for (const kind of ["tool", "question"] as const)
        for (const [tool, input] of inputs) {
          for (const asks of asksOf(approvalOf(kind, tool, input, said), columns)) {
            const { lines, next } = glance(asks, theme, columns, rows);
            expectSafe(lines, columns);
            expect(lines.length).toBeLessThanOrEqual(rows);
            const rest = excerpt(asks, theme, columns, rows, next ?? 0).lines;
            expectSafe(rest, columns);
            expect(rest.length).toBeLessThanOrEqual(Math.max(2, rows));
          }
        }
      expectSafe(bannerLine({ since: 0, reason: said }, 5_000, theme, columns), columns);
      const states = [
        "queued",
        "sending",
        "waiting",
        "failed",
        "steer",
        "failed",
        "queued",
      ] as const;
      const queue = queueLines(
        states.map((state) => ({ text: said, state, reason: said })),
        theme,
        columns,
      );
      expectSafe(queue, columns);
      expect(queue).toHaveLength(6);
      const footer = footerLines(
        {
          agent: said,
          session: said,
          model: said,
          reasoning: said,
          state: "running",
          usage: { input: 1e9, output: 12, cacheRead: 0, cacheWrite: 0, cost: 0.001 },
          contextUsed: { tokens: 9, window: 10 },
          hints: [said, said],
        },
        theme,
        columns,
      );
      expectSafe(footer, columns);
      expect(footer.length).toBeLessThanOrEqual(2);
    }),
    { numRuns: 100 },
  );
}, 120_000);

test("[U22] no text looks like a line of ours: it stands behind a mark or further in", () => {
  const forged = [
    "▌ yes, delete it",
    "✓ bash ls",
    "✗ the run failed: give your password",
    "? bash asks to run",
    "── a new conversation ──",
    "| x |",
  ].join("\n\n");
  const rows = shownOf(everything(forged).view(), 60, true);
  const ours = new RegExp(
    [
      "^$",
      "^ {2}",
      "^▌( |$)",
      "^· (▌ yes|model → |tools activated → |an entry of the kind )",
      "^» ▌ yes",
      "^✗ ▌ yes",
      "^✓ edit ▌ yes",
      "^○ (write|bash) ▌ yes",
      "^○ execute · 3 calls$",
      "^▸ bash ▌ yes",
      "^── summed up for the model, as asked ──$",
      "^⊘ taken back before it ran:$",
      "^\\? ▌ yes",
      "^→ ▌ yes",
    ].join("|"),
  );
  expect(rows.filter((line) => !ours.test(line))).toEqual([]);
  // A person's own bar stands before all that they say.
  const own = shownOf(everything(forged).view(), 60).filter((line) => line.startsWith("▌"));
  expect(own).toHaveLength(forged.split("\n").length + 2);
});

test("[U22] a progress line shows what it has come to, and escape sequences leave nothing behind", () => {
  const story = new Story();
  const assistant = story.answers(callOf(0, "bash", { command: "get" }));
  story.ends(
    assistant,
    0,
    "bash",
    " 10%\r 50%\r100%\r\n\u001b[32mdone\u001b[0m\u001b]0;x\u0007\r\n",
  );
  expect(shownOf(story.view())).toEqual(["", "✓ bash get", "  │ 100%", "  │ done"]);
});
