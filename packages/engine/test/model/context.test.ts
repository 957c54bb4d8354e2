import type { Message } from "@earendil-works/pi-ai";
import type { TranscriptEntry } from "@lichen/runtime";
import fc from "fast-check";
import { expect, test } from "vitest";
import { contextOf, unansweredTurn, unknownEffect } from "../../src/model/context.ts";
import { assistant, call, compaction, line, logOf, outcome, user } from "./entries.ts";

const reader = { provider: "p", api: "a", id: "m" };
const own = { provider: "p", api: "a", model: "m" };

function read(entries: TranscriptEntry[]): Message[] {
  return contextOf(entries, reader, () => undefined);
}

/** One line per message: role and texts. */
function outline(messages: Message[]): string[] {
  return messages.map((message) => {
    const content = typeof message.content === "string" ? [] : message.content;
    const parts = content.map((block) =>
      block.type === "text"
        ? block.text
        : block.type === "toolCall"
          ? `call ${block.id}`
          : block.type,
    );
    return `${message.role}: ${parts.join(" + ")}`;
  });
}

test("[E26] results stand right behind their message, whatever stands between them in the log", () => {
  const entries = logOf(
    user("go"),
    assistant(["on it", call(0), call(1)]),
    line("a line"),
    outcome(2, 1, "second"),
    user("a steer", { steers: "cmd_1" }),
    outcome(2, 0, "first"),
    assistant(["done"]),
  );
  expect(outline(read(entries))).toEqual([
    "user: go",
    "assistant: on it + call c0 + call c1",
    "toolResult: first",
    "toolResult: second",
    "user: a line + a steer",
    "assistant: done",
  ]);
});

test("[E27] a call without an outcome is told as interrupted with unknown effect", () => {
  const [, , result] = read(logOf(user("go"), assistant([call(0)]), user("next")));
  expect(result).toMatchObject({ role: "toolResult", isError: true });
  expect(outline([result!])).toEqual([`toolResult: ${unknownEffect}`]);
});

test("[E28] a prompt that was never answered is closed before the next one", () => {
  expect(outline(read(logOf(user("lost"), line("by the way"), user("next"))))).toEqual([
    "user: lost + by the way",
    `assistant: ${unansweredTurn}`,
    "user: next",
  ]);
  const cut = assistant(["half an", call(0)], { stop: "aborted" });
  expect(outline(read(logOf(user("lost"), cut, user("next"))))).toEqual([
    "user: lost",
    "assistant: half an",
    "user: next",
  ]);
});

test("[E29] thoughts and signatures go back to the model that made them, and to no other", () => {
  const content = [
    { type: "thinking" as const, text: "hm", signature: "s1" },
    { type: "text" as const, text: "so", signature: "s2" },
  ];
  const [, mine] = read(logOf(user("q"), assistant(content, own)));
  expect(mine?.content).toEqual([
    { type: "thinking", thinking: "hm", thinkingSignature: "s1" },
    { type: "text", text: "so", textSignature: "s2" },
  ]);
  const [, other] = read(logOf(user("q"), assistant(content, { ...own, model: "m2" })));
  expect(other?.content).toEqual([{ type: "text", text: "so" }]);
});

test("[E30] a summary is the first thing the user says", () => {
  const messages = outline(read(logOf(compaction("so far"), assistant(["kept"]), user("on"))));
  expect(messages[0]).toMatch(/^user: .*so far/s);
  expect(messages.slice(1)).toEqual(["assistant: kept", "user: on"]);
});

test("[E31] an image that is no longer stored, an empty result and an empty prompt become words", () => {
  const image = { blob: "a".repeat(64), mimeType: "image/png", bytes: 7 };
  const messages = read(
    logOf(user("", { images: [image] }), assistant([call(0)]), outcome(2, 0, ""), user("")),
  );
  for (const line of outline(messages)) expect(line).not.toMatch(/: $/);
});

const anyEntry = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("prompt", "steer", "line") },
  { weight: 2, arbitrary: fc.constantFrom("answer", "aborted", "silent", "thinks") },
  { weight: 3, arbitrary: fc.constantFrom("calls1", "calls3") },
  { weight: 4, arbitrary: fc.constantFrom("outcome") },
);

/** A log in which anything may follow anything, as crashes and other engines leave it. */
const anyLog = fc
  .tuple(fc.boolean(), fc.array(anyEntry, { maxLength: 40 }), fc.nat())
  .map(([isCompacted, kinds, seed]) => {
    const given: Parameters<typeof logOf> = isCompacted ? [compaction("earlier")] : [];
    const open: [number, number][] = [];
    let random = seed;
    for (const kind of kinds) {
      const seq = given.length + 1;
      switch (kind) {
        case "prompt":
          given.push(user(`p${seq}`));
          break;
        case "steer":
          given.push(user("", { steers: "cmd_1" }));
          break;
        case "line":
          given.push(line(""));
          break;
        case "answer":
          given.push(assistant([`a${seq}`], own));
          break;
        case "aborted":
          given.push(assistant([call(0)], { stop: "aborted" }));
          break;
        case "silent":
          given.push(assistant([]));
          break;
        case "thinks":
          given.push(assistant([{ type: "thinking", text: "hm", signature: "s" }]));
          break;
        case "calls1":
        case "calls3": {
          const count = kind === "calls1" ? 1 : 3;
          given.push(
            assistant(Array.from({ length: count }, (_, at) => call(at, at === 2 ? "" : "call_0"))),
          );
          for (let at = 0; at < count; at++) open.push([seq, at]);
          break;
        }
        case "outcome": {
          random = (random * 31 + 7) % 1_000_003;
          const [found] = open.length > 0 ? open.splice(random % open.length, 1) : [];
          if (found) given.push(outcome(found[0], found[1], `r${found[0]}.${found[1]}`));
          break;
        }
      }
    }
    return logOf(...given);
  });

test("[E32] any log becomes a conversation that every provider takes", () => {
  fc.assert(
    fc.property(anyLog, (entries) => {
      const before = JSON.stringify(entries);
      const messages = read(entries);
      expect(JSON.stringify(entries)).toBe(before);
      expect(JSON.stringify(messages)).not.toContain("for display only");
      const ids = new Set<string>();
      let waiting: string[] = [];
      let turn = "assistant";
      for (const message of messages) {
        if (message.role === "toolResult") {
          expect(message.toolCallId).toBe(waiting.shift());
        } else {
          expect(waiting).toEqual([]);
          expect(message.role === turn && turn === "user").toBe(false);
          if (message.role === "assistant" && turn === "assistant")
            expect(messages[messages.indexOf(message) - 1]?.role).toBe("toolResult");
          turn = message.role;
        }
        const content = typeof message.content === "string" ? [] : message.content;
        expect(content.length).toBeGreaterThan(0);
        for (const block of content) {
          if (block.type === "text") expect(block.text.trim()).not.toBe("");
          if (block.type !== "toolCall") continue;
          expect(ids.has(block.id)).toBe(false);
          ids.add(block.id);
          waiting.push(block.id);
        }
      }
      expect(waiting).toEqual([]);
      if (messages.length > 0) expect(messages[0]?.role).toBe("user");
      const said = entries
        .filter((entry) => entry.kind === "message.user")
        .map((it) => it.data.text);
      const text = JSON.stringify(messages);
      for (const prompt of said)
        expect(text).toContain(JSON.stringify(prompt || "(An empty").slice(1, -1));
    }),
    { numRuns: 300 },
  );
});
