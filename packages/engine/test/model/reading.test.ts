import type { TranscriptEntry } from "@lichen/runtime";
import { textOf } from "@lichen/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readingOf, resultLimit } from "../../src/model/reading.ts";
import { assistant, call, compaction, line, logOf, outcome, user } from "./entries.ts";

const reader = { provider: "p", api: "a", id: "m" };
const own = { provider: "p", api: "a", model: "m" };
const image = { blob: "a".repeat(64), mimeType: "image/png", bytes: 7 };
const refusal = assistant([], { ...own, stop: "error", error: "400", imagesRefused: true });
const pictured = (text: string) => user(text, { images: [image] });
const looked = (assistantSeq: number) => {
  const made = outcome(assistantSeq, 0, "look");
  return {
    ...made,
    data: { ...made.data, content: [...made.data.content, { type: "image" as const, image }] },
  };
};

/** Which entries still hold images, by seq. */
function pictures(entries: TranscriptEntry[], as = reader): number[] {
  return readingOf(entries, as, 1_000).flatMap((entry) =>
    (entry.kind === "message.user" && (entry.data.images ?? []).length > 0) ||
    (entry.kind === "message.tool" && entry.data.content.some((it) => it.type === "image"))
      ? [entry.seq]
      : [],
  );
}

test("[E62] what is left out are the images since the provider's last answer, or all where none came since", () => {
  const answered = logOf(pictured("one"), assistant(["seen"], own), pictured("two"), user("three"));
  expect(pictures(answered)).toEqual([1, 3]);
  const refused = logOf(
    pictured("one"),
    assistant(["seen"], own),
    pictured("two"),
    refusal,
    pictured("three"),
  );
  expect(pictures(refused)).toEqual([1, 5]);
  expect(readingOf(refused, reader, 1_000)[2]).toMatchObject({
    data: { text: expect.stringMatching(/^two\n\n\(An image was left out here/) },
  });
  const again = logOf(pictured("one"), assistant(["seen"], own), refusal, user("two"));
  expect(pictures(again)).toEqual([]);
  const called = logOf(user("go"), assistant([call(0)], own), looked(2), refusal, user("on"));
  expect(pictures(called)).toEqual([]);
  expect(readingOf(called, reader, 1_000)[2]).toMatchObject({
    data: { content: [{ text: "look" }, { text: expect.stringContaining("left out") }] },
  });
});

test("[E62] another model is sent the images that this one's provider refused", () => {
  const entries = logOf(pictured("one"), refusal, user("two"));
  expect(pictures(entries)).toEqual([]);
  expect(pictures(entries, { ...reader, id: "other" })).toEqual([1]);
});

test("[E64] a result keeps its beginning and its end, says what is left out, and never exceeds its limit", () => {
  expect(resultLimit(1_000_000)).toBe(100_000);
  expect(resultLimit(100_000)).toBe(87_500);
  const block = fc.oneof(
    fc.string({ unit: "binary", maxLength: 3_000 }),
    fc.integer({ min: 0, max: 40_000 }).map((n) => "🦊".repeat(n)),
  );
  fc.assert(
    fc.property(
      fc.array(block, { maxLength: 6 }),
      fc.integer({ min: 400, max: 5_000 }),
      (texts, limit) => {
        const content = texts.map((text) => ({ type: "text" as const, text }));
        const made = outcome(2, 0, "");
        const entries = logOf(user("go"), assistant([call(0)]), {
          ...made,
          data: { ...made.data, content: [...content, { type: "image" as const, image }] },
        });
        const [, , read] = readingOf(entries, reader, limit);
        if (read?.kind !== "message.tool") throw new Error("It is a result no more.");
        const whole = texts.join("");
        const shown = read.data.content
          .map((it) => (it.type === "text" ? textOf(it.text) : ""))
          .join("");
        expect(read.data.content.at(-1)).toEqual({ type: "image", image });
        expect(shown.length).toBeLessThanOrEqual(limit);
        if (whole.length <= limit) {
          expect(read).toBe(entries[2]);
          return;
        }
        const [head = "", tail = ""] = shown.split(
          /\n\n\(\d+ of \d+ characters are left out here[^)]*\)\n\n/,
        );
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        expect(head.length + tail.length).toBeGreaterThan(limit - 250);
        expect(head.isWellFormed() && tail.isWellFormed()).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test("[E64] what is short enough, and what no tool said, stays as it is", () => {
  const entries = logOf(
    compaction("x".repeat(5_000)),
    user("y".repeat(5_000)),
    line("z".repeat(5_000)),
    assistant(["w".repeat(5_000), call(0)]),
    outcome(4, 0, "short"),
  );
  expect(readingOf(entries, reader, 1_000)).toEqual(entries);
});
