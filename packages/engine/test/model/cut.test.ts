import fc from "fast-check";
import { expect, test } from "vitest";
import { contextTokens, cutFor, summaryRequest, tokensOf } from "../../src/model/cut.ts";
import { assistant, call, compaction, line, logOf, outcome, user } from "./entries.ts";

const usage = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0 };

test("[E33] a cut stands before a prompt where the newest turn fits, and keeps as much as fits", () => {
  const turn = (n: number) => [
    user(`question ${n} ${"x".repeat(350)}`),
    assistant([`answer ${n}`]),
  ];
  const entries = logOf(...turn(1), ...turn(2), ...turn(3), ...turn(4));
  const cut = cutFor(entries, tokensOf(entries.slice(4)), true)!;
  expect(cut.before).toHaveLength(4);
  expect(cut.kept[0]?.id).toBe("ent_5");
});

test("[E34] within one long turn the cut stands before a message, and never between a call and its result", () => {
  const work = Array.from({ length: 12 }, (_, at) => [
    assistant([call(0)]),
    outcome(2 + at * 2, 0, "y".repeat(700)),
  ]).flat();
  const entries = logOf(user("do it all"), ...work);
  const cut = cutFor(entries, 900, true)!;
  expect(cut.kept[0]?.kind).toBe("message.assistant");
  expect(tokensOf(cut.kept)).toBeLessThanOrEqual(900);
  expect(cutFor(entries, 900, false)).toBeUndefined();
  expect(cutFor(entries, 0, true)).toEqual({ before: entries, kept: [] });
});

test("[E35] any cut splits the log, keeps every pair together, and leaves something to sum up", () => {
  const piece = fc.constantFrom("prompt", "line", "answer", "call", "result", "compaction");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.nat(400),
      fc.boolean(),
      (pieces, keep, inside) => {
        const open: number[] = [];
        const given: Parameters<typeof logOf> = [];
        for (const it of pieces) {
          const seq = given.length + 1;
          if (it === "prompt") given.push(user("p".repeat(seq * 7)));
          if (it === "line") given.push(line("l"));
          if (it === "answer") given.push(assistant(["a"]));
          if (it === "compaction" && seq === 1) given.push(compaction("s"));
          if (it === "call") {
            open.push(seq);
            given.push(assistant([call(0)]));
          }
          const asked = it === "result" ? open.shift() : undefined;
          if (asked) given.push(outcome(asked, 0, "r"));
        }
        const entries = logOf(...given);
        const cut = cutFor(entries, keep, inside);
        if (!cut) return;
        expect([...cut.before, ...cut.kept]).toEqual(entries);
        expect(cut.before.some((entry) => entry.kind !== "compaction")).toBe(true);
        for (const entry of cut.kept)
          if (entry.kind === "message.tool")
            expect(cut.kept.some((it) => it.id === entry.data.assistant)).toBe(true);
        if (cut.kept[0]) expect(cut.kept[0].kind).toMatch(/^message\.(user|assistant)$/);
      },
    ),
    { numRuns: 300 },
  );
});

test("[E36] the size of the next request is what the provider counted last and an estimate of the rest", () => {
  const entries = logOf(user("q"), assistant(["a"], { usage }), user("x".repeat(350)));
  expect(contextTokens(entries, 5_000)).toBe(1_000 + tokensOf(entries.slice(2)));
  const uncounted = logOf(user("q"));
  expect(contextTokens(uncounted, 5_000)).toBe(5_000 + tokensOf(uncounted));
  // What stands before a compaction in the log was counted with all that is gone.
  const [counted, sum, next] = logOf(assistant(["a"], { usage }), compaction("s"), user("n"));
  expect(contextTokens([sum!, counted!, next!], 10)).toBe(10 + tokensOf([sum!, counted!, next!]));
});

test("[E37] the request for a summary is bounded and tells of what it leaves out", () => {
  const entries = logOf(
    compaction("EARLIER"),
    ...Array.from({ length: 200 }, (_, n) => user(`question ${n} ${"z".repeat(900)}`)),
  );
  const text = summaryRequest(
    { before: entries, kept: [] },
    { limitTokens: 4_000, instructions: "names!" },
  );
  expect(text.length).toBeLessThan(20_000);
  expect(text).toContain("EARLIER");
  expect(text).toContain("names!");
  expect(text).toMatch(/older messages are left out/);
  expect(text).toContain("question 199");
});
