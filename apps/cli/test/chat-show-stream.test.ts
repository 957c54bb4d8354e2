import { ViewFold } from "@lichen/client";
import type { Baseline, Entry } from "@lichen/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Growing } from "../src/chat/show/growing.ts";
import { markdownLines } from "../src/chat/show/message.ts";
import { Transcript } from "../src/chat/show/transcript.ts";
import { themeOf } from "../src/chat/show/theme.ts";
import {
  bare,
  callOf,
  emptyBaseline,
  numbered,
  shownOf,
  Story,
  streaming,
} from "./chat-show-story.ts";

const theme = themeOf("dark", "truecolor");

/** A conversation of `turns` times three items: a question, an answer with a call, a note. */
function longStory(turns: number): Story {
  const story = new Story();
  for (let turn = 0; turn < turns; turn++) {
    story.says(`question ${turn}`);
    const assistant = story.answers(
      `The answer is **${turn}**.\n\n- one\n- two`,
      callOf(0, "bash", { command: `echo ${turn}` }),
    );
    story.ends(assistant, 0, "bash", numbered(3));
    story.add("line", { text: `note ${turn}` });
  }
  return story;
}

function followed(entries: readonly Entry[], baseline: Baseline = emptyBaseline): ViewFold {
  const fold = new ViewFold();
  fold.take({ type: "baseline", id: "", data: baseline });
  for (const data of entries) fold.take({ type: "entry", id: "", data });
  return fold;
}

test("[U26] while a text streams, what stands above its last block stays, and once stored it looks the same", () => {
  const story = new Story();
  story.says("go");
  const before = story.view();
  const text =
    "First *words*.\n\n```ts\nconst a = `x`;\n\nlet b;\n```\n\nThen | more.\n\n~~~\nunfinished\n";
  const transcript = new Transcript(theme);
  let last: readonly string[] = [];
  let height = 0;
  for (let end = 1; end <= text.length; end++) {
    transcript.show(streaming(before, { text: text.slice(0, end) }));
    last = transcript.render(60);
    const rows = bare(last);
    expect(rows.slice(0, 3)).toEqual(["", "▌ go", ""]);
    if (end > 16) expect(rows[3]).toBe("  First words.");
    // A fence that is not closed yet shows as a block that is.
    if (end > 21) expect(rows.filter((it) => /^ {2}(`{3}|~{3})/.test(it)).length % 2).toBe(0);
    if (end > 25) expect(rows[5]).toBe("  ```ts");
    expect(rows.length).toBeGreaterThanOrEqual(height - 1);
    height = rows.length;
  }
  story.answers(text);
  transcript.show(story.view());
  expect(transcript.render(60)).toEqual(last);
});

test("[U26] a text that grows by any steps has at each of them the lines of the whole", () => {
  const block = fc.constantFrom(
    "Plain words, and then **some** more of them.",
    "# Title",
    "Title\n===",
    "- one\n- two\n\n  more\n- three",
    "1. one\n   - in\n\n   ```\n   code\n   ```",
    "> quoted\n> more",
    "```ts\nconst a = 1;\n\nWords in code\n```",
    "````\n```\n\nStill code\n````",
    "~~~\nopen\n\nSo it goes",
    "| a | b |\n|---|---|\n| c | d |",
    "a | b\n--|--\nc | d",
    "<b>bold</b>",
    "<!-- hidden\n\nStill -->",
    "$$\na\n\nb\n$$",
    "    indented",
    "---",
    "See [x] and [y](http://a.b).",
    "[x]: http://c.d",
    "línea *abierta",
    "`a",
    "\u001b]0;open",
  );
  const gap = fc.constantFrom("\n\n", "\n", "\n\n\n", "\n  \n");
  const text = fc
    .array(fc.tuple(block, gap), { minLength: 1, maxLength: 12 })
    .map((blocks) => blocks.flat().join(""));
  const look = { theme, width: 50, isUnfolded: false };
  fc.assert(
    fc.property(text, fc.integer({ min: 5, max: 80 }), (whole, step) => {
      const growing = new Growing(0);
      for (let end = step; end < whole.length + step; end += step) {
        const begun = whole.slice(0, end);
        expect(growing.lines(begun, look)).toEqual(markdownLines(begun, look));
      }
      expect(growing.lines("Anew", look)).toEqual(markdownLines("Anew", look));
    }),
    { numRuns: 100 },
  );
});

test("[U26] thinking streams as its last lines until the text begins, and a call as what it is about", () => {
  const story = new Story();
  story.says("go");
  const view = story.view();
  const rows = (partial: Parameters<typeof streaming>[1]): string[] =>
    shownOf(streaming(view, partial)).slice(2);
  expect(rows({ thinking: numbered(9, "step") })).toEqual([
    "",
    "· step 6",
    "  step 7",
    "  step 8",
    "  step 9",
  ]);
  expect(rows({ thinking: numbered(9, "step"), text: "So" })).toEqual([
    "",
    "· step 1 (9 lines, ctrl+o)",
    "  So",
  ]);
  const argsText = `{"path":"a\\"b.ts","content":"${"x".repeat(1_190)}`;
  expect(rows({ text: "So", tool: { index: 0, name: "write", argsText } })).toEqual([
    "",
    "  So",
    "",
    '… write a"b.ts · 1.2 kB so far',
  ]);
  expect(rows({ tool: { index: 0, name: "bash", argsText: '{"command":"ls \\' } })).toEqual([
    "",
    "… bash ls",
  ]);
  const retrying = { attempt: 2, maxAttempts: 4, delayMs: 1_500, reason: "overloaded" };
  expect(rows({ retrying })).toEqual([
    "",
    "↻ the model call failed (overloaded); trying again in 1.5 s (attempt 2 of 4)",
  ]);
});

test("[U27] an item is drawn once: of 10,000 a frame draws only those that it changes", () => {
  const story = longStory(3_333);
  const fold = followed(story.entries);
  const transcript = new Transcript(theme);
  transcript.show(fold.view!);
  const whole = transcript.render(80);
  expect(fold.view!.items).toHaveLength(9_999);
  expect(transcript.draws).toBe(9_999);
  expect(transcript.render(80)).toBe(whole);
  const height = whole.length;

  transcript.show(streaming(fold.view!, { text: "It" }));
  expect(transcript.render(80)).toHaveLength(height + 2);
  transcript.show(streaming(fold.view!, { text: "It streams" }));
  const streamed = transcript.render(80);
  expect(bare(streamed.slice(-1))).toEqual(["  It streams"]);
  expect(transcript.draws).toBe(9_999);

  // The queue, the footer and what else a view holds are not drawn here.
  transcript.show({
    ...streaming(fold.view!, {}),
    running: { ...fold.view!.running!, ...viewPartial("It streams") },
  });
  transcript.render(80);
  expect(transcript.draws).toBe(9_999);

  const assistant = story.answers(callOf(0, "bash", { command: "sleep" }));
  story.starts(assistant, 0, "bash");
  for (const data of story.entries.slice(-2)) fold.take({ type: "entry", id: "", data });
  transcript.show(fold.view!);
  expect(bare(transcript.render(80)).slice(-1)).toEqual(["▸ bash sleep"]);
  expect(transcript.draws).toBe(10_000);
  for (const output of ["a", "a\nb"]) {
    transcript.show(streaming(fold.view!, { tool: { index: 0, name: "bash", output } }));
    transcript.render(80);
  }
  expect(bare(transcript.render(80)).slice(-3)).toEqual(["▸ bash sleep", "  │ a", "  │ b"]);
  expect(transcript.draws).toBe(10_002);
  transcript.show(fold.view!);
  expect(transcript.render(80)).toHaveLength(height + 2);
  expect(transcript.draws).toBe(10_003);
}, 60_000);

function viewPartial(text: string) {
  return { commandId: "c1", startedAt: "", partial: { commandId: "c1", text } };
}

test("[U27] older pages, an answer to an old call and another width leave the rest as it was", () => {
  const story = longStory(50);
  const entries = [...story.entries];
  const at = 100;
  const page = { ...emptyBaseline, head: entries.length, entries: entries.slice(at), more: true };
  const fold = followed([], page);
  const transcript = new Transcript(theme);
  transcript.show(fold.view!);
  expect(bare(transcript.render(80))[0]).toBe("  older messages: scroll up");
  const drawn = transcript.draws;
  expect(drawn).toBe(fold.view!.items.length);
  fold.earlier({ ...emptyBaseline, head: entries.length, entries: entries.slice(0, at) });
  transcript.show(fold.view!);
  const whole = [...transcript.render(80)];
  // Where the page began stood an outcome without its call: it is part of its message now.
  expect(transcript.draws).toBe(fold.view!.items.length);
  const fresh = new Transcript(theme);
  fresh.show(fold.view!);
  expect(fresh.render(80)).toEqual(whole);
  expect(fresh.draws).toBe(150);

  const old = entries.find((entry) => entry.kind === "message.assistant")!;
  const late = { assistant: old.id, index: 0, callId: "k0", name: "bash", label: "write" as const };
  const data = story.add("call.started", { ...late, replaySafe: false, digest: "d" });
  fold.take({ type: "entry", id: "", data });
  transcript.show(fold.view!);
  expect(bare(transcript.render(80))).toContain("▸ bash echo 0");
  expect(transcript.draws).toBe(151);

  expect(transcript.render(40)).not.toEqual(whole);
  const narrow = new Transcript(theme);
  narrow.show(fold.view!);
  expect(transcript.render(40)).toEqual(narrow.render(40));
});

test("[U27] another branch and a new conversation show what belongs to them alone", () => {
  const story = longStory(3);
  const fold = followed(story.entries);
  const transcript = new Transcript(theme);
  transcript.show(fold.view!);
  const whole = [...transcript.render(80)];
  const leaf = story.entries.find((entry) => entry.kind === "line")!.id;
  fold.take({ type: "entry", id: "", data: story.add("session.changed", { leaf }) });
  transcript.show(fold.view!);
  const branch = [...transcript.render(80)];
  expect(branch.length).toBeLessThan(whole.length);
  expect(branch).toEqual(whole.slice(0, branch.length));
  fold.take({ type: "entry", id: "", data: story.add("conversation.started", {}) });
  transcript.show(fold.view!);
  expect(bare(transcript.render(80))).toEqual(["", "── a new conversation ──"]);
});
