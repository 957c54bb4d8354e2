import { expect, test } from "vitest";
import { type ColorDepth, themeOf } from "../src/chat/show/theme.ts";
import { Transcript } from "../src/chat/show/transcript.ts";
import { bare, callOf, numbered, shownOf, Story } from "./chat-show-story.ts";

test("[U25] thinking is one line, output its first and last lines, and ctrl+o shows both whole", () => {
  const story = new Story();
  const assistant = story.answers(
    { type: "thinking", text: "first\nsecond\nthird" },
    callOf(0, "bash", { command: "run" }),
  );
  story.ends(assistant, 0, "bash", numbered(50));
  const out = (from: number, to: number): string[] =>
    numbered(50)
      .split("\n")
      .slice(from - 1, to)
      .map((line) => `  │ ${line}`);
  expect(shownOf(story.view())).toEqual([
    "",
    "· first (3 lines, ctrl+o)",
    "✓ bash run",
    ...out(1, 6),
    "  │ … 38 lines, ctrl+o shows all",
    ...out(45, 50),
  ]);
  expect(shownOf(story.view(), 80, true)).toEqual([
    "",
    "· first",
    "  second",
    "  third",
    "",
    "✓ bash run",
    ...out(1, 50),
  ]);
  const transcript = new Transcript(themeOf("dark", "none"));
  transcript.show(story.view());
  const folded = transcript.render(80);
  transcript.isUnfolded = true;
  transcript.isUnfolded = false;
  expect(transcript.render(80)).toEqual(folded);
});

test("[U25] a line that is longer than the screen is one row while folded", () => {
  const story = new Story();
  const assistant = story.answers(callOf(0, "bash", { command: "run" }));
  story.ends(assistant, 0, "bash", "word ".repeat(6_000));
  const rows = shownOf(story.view(), 40);
  expect(rows).toHaveLength(3);
  expect(rows[2]).toMatch(/^ {2}│ word .*…$/);
  expect(shownOf(story.view(), 40, true).length).toBeGreaterThan(700);
});

test("[U25] a long message of a person is folded too, and a short one is not", () => {
  const story = new Story();
  story.says(numbered(31, "line"));
  story.says(numbered(60, "line"));
  const rows = shownOf(story.view());
  expect(rows.slice(0, 32)).toEqual([
    "",
    ...numbered(31, "line")
      .split("\n")
      .map((it) => `▌ ${it}`),
  ]);
  expect(rows.slice(33 + 23, 33 + 27)).toEqual([
    "▌ line 24",
    "▌ … 30 lines, ctrl+o shows all",
    "▌ line 55",
    "▌ line 56",
  ]);
  expect(shownOf(story.view(), 80, true)).toHaveLength(93);
});

test("[U30] without colours no colour is left, and both looks show the same words", () => {
  const story = new Story();
  story.says("hello");
  const assistant = story.answers(
    "# Title\n\n`code` and [link](http://a.b)",
    callOf(0, "bash", { command: "ls" }),
  );
  story.ends(assistant, 0, "bash", "no", { isError: true });
  const drawn = (name: "dark" | "light", color: ColorDepth): readonly string[] => {
    const transcript = new Transcript(themeOf("dark", "truecolor"));
    transcript.setTheme(themeOf(name, color));
    transcript.show(story.view());
    return transcript.render(60);
  };
  const plain = drawn("dark", "none");
  // oxlint-disable-next-line no-control-regex -- colours are what must not be there
  expect(plain.join("\n")).not.toMatch(/\u001b\[(?:3|4|9|10)\d/);
  for (const name of ["dark", "light"] as const)
    for (const color of ["truecolor", "256color"] as const) {
      expect(bare(drawn(name, color))).toEqual(bare(plain));
      expect(drawn(name, color).join("\n")).toContain(
        color === "truecolor" ? "\u001b[38;2;" : "\u001b[38;5;",
      );
    }
  expect(drawn("dark", "truecolor")).not.toEqual(drawn("light", "truecolor"));
});
