import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesInWords,
  durationInWords,
  moneyInWords,
  tokensInWords,
} from "../src/chat/show/amounts.ts";
import { bannerLine } from "../src/chat/show/banner.ts";
import { changed, diffRows, patched } from "../src/chat/show/diff.ts";
import { type Footer, footerLines } from "../src/chat/show/footer.ts";
import { type QueuedLine, queueLines } from "../src/chat/show/queue.ts";
import { themeOf } from "../src/chat/show/theme.ts";
import { bare, callOf, numbered, shownOf, Story } from "./chat-show-story.ts";

const plain = themeOf("light", "none");

test("[U24] an edit is shown by what it changes, as the tool recorded it or as its input says", () => {
  const story = new Story();
  const edits = [
    { oldText: "a\nb\nc", newText: "a\nB\nB2\nc" },
    { oldText: "x", newText: "y", replaceAll: true },
  ];
  const assistant = story.answers(
    callOf(0, "edit", { path: "a.ts", edits }),
    callOf(1, "edit", { path: "b.ts", edits }),
    callOf(2, "write", { path: "c.ts", content: "one\ntwo\n" }),
    callOf(3, "edit", { path: "d.ts", edits }),
  );
  const diff = "@@ -9,3 +9,4 @@\n a\n-b\n+B\n+B2\n c\n@@ -40,1 +41,1 @@\n-x\n+y";
  story.ends(assistant, 0, "edit", "Edited a.ts.", { data: { path: "a.ts", diff } });
  story.ends(assistant, 2, "write", "Created c.ts (8 bytes).");
  story.ends(assistant, 3, "edit", "The text was not found.", { isError: true });
  expect(shownOf(story.view())).toEqual([
    "",
    "✓ edit a.ts",
    "  │  9   a",
    "  │ 10 - b",
    "  │ 10 + B",
    "  │ 11 + B2",
    "  │ 12   c",
    "  │  …",
    "  │ 40 - x",
    "  │ 41 + y",
    "○ edit b.ts",
    "  │   a",
    "  │ - b",
    "  │ + B",
    "  │ + B2",
    "  │   c",
    "  │ … everywhere:",
    "  │ - x",
    "  │ + y",
    "✓ write c.ts",
    "  │ 1 + one",
    "  │ 2 + two",
    "✗ edit d.ts",
    "  │ The text was not found.",
  ]);
});

test("[U24] a computed diff leads from the old text to the new one and keeps what both share", () => {
  const word = fc.constantFrom("a", "b", "c", "d", "");
  const lines = fc.array(word, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = changed(before.join("\n"), after.join("\n"));
      const side = (sign: "+" | "-"): string[] =>
        diff.filter((line) => line.sign === " " || line.sign === sign).map(({ text }) => text);
      // Lines far from every change are left out on both sides alike.
      const isPart = (some: string[], whole: string[]): boolean =>
        `\n${whole.join("\n")}\n`.includes(`\n${some.join("\n")}\n`) || some.length === 0;
      expect(isPart(side("-"), before.join("\n") === "" ? [] : before)).toBe(true);
      expect(isPart(side("+"), after.join("\n") === "" ? [] : after)).toBe(true);
    }),
    { numRuns: 300 },
  );
  const huge = changed(numbered(2_000, "a"), numbered(2_000, "b"));
  expect(huge).toHaveLength(4_000);
});

test("[U24] a long diff is bounded, a long line of it wraps under its own text, and what is no diff is none", () => {
  const many = patched(`@@ -1,40 +1,40 @@\n${numbered(40, "+x").trimEnd()}`)!;
  const fold = { isUnfolded: false, first: 14, last: 6 };
  const rows = bare(diffRows(many, plain, 40, fold));
  expect(rows).toHaveLength(21);
  expect(rows[14]).toBe("… 20 lines, ctrl+o shows all");
  const long = patched(`@@ -7,1 +7,1 @@\n+${"word ".repeat(9)}`)!;
  expect(bare(diffRows(long, plain, 24, fold))).toEqual([
    "7 + word word word word",
    "    word word word word",
    "    word",
  ]);
  expect(patched("Edited a.ts.")).toBeUndefined();
});

test("[U29] an outage tells since when, why, and that nothing sent is lost", () => {
  const banner = (since: number, width = 80): string[] =>
    bare(bannerLine({ since, reason: "connection refused." }, 100_000, plain, width));
  expect(banner(88_000)).toEqual([
    "No connection since 12 s (connection refused). What you send is kept.",
  ]);
  expect(banner(100_900)[0]).toContain("since 0 s");
  expect(banner(88_000, 40)).toHaveLength(2);
  expect(bannerLine(undefined, 0, plain, 80)).toEqual([]);
});

test("[U29] at most five messages that wait are shown, the others counted, with those that were refused", () => {
  const states = ["queued", "steer", "sending", "waiting", "failed", "failed", "queued"] as const;
  const entries = states.map((state, at): QueuedLine => ({
    text: `message ${at}\nmore`,
    state,
    ...(state === "failed" ? { reason: "it is too large" } : {}),
  }));
  expect(bare(queueLines(entries, plain, 60))).toEqual([
    "○ queued: message 0 more",
    "» joins what runs: message 1 more",
    "↑ sending: message 2 more",
    "… waits for the connection: message 3 more",
    "✗ not accepted (it is too large): message 4 more",
    "  and 2 more (1 not accepted)",
  ]);
  expect(queueLines([], plain, 60)).toEqual([]);
});

test("[U29] on a narrow screen the footer leaves out the least important, and never what it does now", () => {
  const footer: Footer = {
    agent: "hello",
    session: "Mend the build",
    model: "demo/words",
    reasoning: "high",
    state: "waiting",
    usage: { input: 2_000, output: 345, cacheRead: 10_000, cacheWrite: 0, cost: 0.0123 },
    contextUsed: { tokens: 110_000, window: 128_000 },
    hints: ["y allows", "n denies", "ctrl+o unfolds"],
  };
  const at = (width: number): string[] => bare(footerLines(footer, plain, width));
  expect(at(100)).toEqual([
    "waits for you · hello · Mend the build · demo/words · thinks high",
    "context 86% of 128 k · $0.01 · ↑12 k ↓345 · y allows · n denies · ctrl+o unfolds",
  ]);
  expect(at(40)).toEqual([
    "waits for you · hello · demo/words",
    "context 86% of 128 k · $0.01 · y allows",
  ]);
  expect(at(20)).toEqual(["waits for you", "y allows"]);
  const lending = { ...footer, capabilities: { offered: "execute", operations: 30 } } as const;
  expect(bare(footerLines(lending, plain, 100))[0]).toBe(
    "waits for you · hello · Mend the build · demo/words · thinks high · 30 operations in programs",
  );
  expect(bare(footerLines(lending, plain, 80))[0]).toBe(at(80)[0]);
  const bareOnes = {
    ...footer,
    model: undefined,
    contextUsed: undefined,
    hints: [],
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
  expect(bare(footerLines(bareOnes, plain, 100))).toEqual([
    "waits for you · hello · Mend the build · thinks high",
  ]);
});

test("[U29] amounts are told in units that people read", () => {
  expect([0, 999, 1_000, 34_000, 999_600, 2_300_000].map(bytesInWords)).toEqual([
    "0 bytes",
    "999 bytes",
    "1.0 kB",
    "34 kB",
    "1.0 MB",
    "2.3 MB",
  ]);
  expect([5, 12_345].map(tokensInWords)).toEqual(["5", "12 k"]);
  expect([0, 240, 9_960, 59_600, 185_000, 7_440_000].map(durationInWords)).toEqual([
    "0 s",
    "0.2 s",
    "10 s",
    "1 min",
    "3 min 5 s",
    "2 h 4 min",
  ]);
  expect([0, 0.000_12, 1.5].map(moneyInWords)).toEqual(["$0.00", "$0.0001", "$1.50"]);
});
