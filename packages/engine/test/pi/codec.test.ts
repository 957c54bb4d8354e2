// What pi writes, read: tolerant of what is missing, of other versions, and of what is no line of pi.

import { describe, expect, test } from "vitest";
import { eventOf } from "../../src/pi/codec.ts";
import { cancelled, questionOf, replyTo } from "../../src/pi/dialogs.ts";
import { assistantOf, outcomeOf } from "../../src/pi/messages.ts";
import { Meter } from "../../src/pi/meter.ts";
import { foundIn, noteOf, placeIn, placeLine } from "../../src/pi/recovery.ts";
import { Sent } from "../../src/pi/sent.ts";

describe("lines", () => {
  test("[PI22] lines of other versions, and what is no line of pi, do no harm", () => {
    for (const line of [
      null,
      1,
      "x",
      [],
      {},
      { type: 3 },
      { type: "news" },
      { type: "extension_ui_request", id: "a", method: "notify" },
    ])
      expect(eventOf(line)).toEqual({ type: "other" });
    expect(eventOf({ type: "agent_end", messages: [] })).toEqual({ type: "paused" });
    expect(eventOf({ type: "agent_end", willRetry: true })).toEqual({
      type: "paused",
      willRetry: true,
    });
    expect(eventOf({ type: "auto_compaction_end", result: { summary: "s" } })).toMatchObject({
      type: "compacted",
      automatic: true,
    });
    expect(eventOf({ type: "response", command: "parse", success: false })).toMatchObject({
      success: false,
      error: "pi gave no reason",
    });
    expect(eventOf({ type: "message_end" })).toEqual({ type: "message", role: "", message: {} });
  });
});

describe("messages", () => {
  test("[PI4] a message that broke off keeps its text and no call; one without a word is no message", () => {
    const call = { type: "toolCall", id: "c", name: "bash", arguments: {} };
    const broken = {
      stopReason: "error",
      errorMessage: "cut",
      content: [{ type: "text", text: "half" }, call],
    };
    expect(assistantOf(broken)).toMatchObject({
      calls: [],
      data: { stop: "error", error: "cut", content: [{ text: "half" }] },
    });
    expect(assistantOf({ ...broken, content: [call] }).data).toBeUndefined();
    expect(
      assistantOf({
        stopReason: "toolUse",
        content: [call, { ...call, name: "ls", arguments: "no" }],
      }).calls,
    ).toEqual([
      { index: 0, callId: "c", name: "bash", input: {}, label: "write", replaySafe: false },
      { index: 1, callId: "c", name: "ls", input: {}, label: "read", replaySafe: true },
    ]);
  });

  test("[PI4] a result's texts and images reach the log, its details are for display", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "image", mimeType: "image/png", data: "AA==" },
      { type: "news" },
    ];
    expect(outcomeOf({ content, isError: true, details: { lines: 3 } })).toEqual({
      content: content.slice(0, 2),
      isError: true,
      data: { lines: 3 },
    });
  });
});

describe("dialogs", () => {
  const dialog = { id: "d", method: "select", title: "Which?", options: ["a", "b"] } as const;

  test("[PI9] each kind of dialog gets its own kind of answer", () => {
    const allowed = (answers: Record<string, string>) => ({ outcome: "allowed", answers }) as const;
    expect(replyTo(dialog, allowed({ "Which?": "b" }))).toMatchObject({ id: "d", value: "b" });
    const confirm = { ...dialog, method: "confirm", options: [] } as const;
    expect(questionOf(confirm)).toMatchObject({ options: [{ label: "Yes" }, { label: "No" }] });
    expect(replyTo(confirm, allowed({ "Which?": "No" }))).toMatchObject({ confirmed: false });
    expect(replyTo(confirm, { outcome: "allowed" })).toMatchObject({ confirmed: true });
    const input = { ...dialog, method: "input", options: [] } as const;
    expect(replyTo(input, { outcome: "allowed", message: "in words" })).toMatchObject({
      value: "in words",
    });
    for (const outcome of ["denied", "expired", "withdrawn"] as const)
      expect(replyTo(dialog, { outcome })).toEqual(cancelled(dialog));
    expect(replyTo(dialog, { outcome: "allowed" })).toEqual(cancelled(dialog));
  });
});

describe("what was sent", () => {
  const response = (id: string, disposition?: string) => ({
    type: "response" as const,
    id,
    command: "prompt",
    success: true,
    data: disposition === undefined ? {} : { disposition },
    error: "",
  });

  const message = (id: string, text: string) => ({ id, text, images: [], steers: false });

  test("[PI7] a user message is known by its command, not by its text alone", () => {
    const sent = new Sent();
    const send = (id: string, text: string, disposition: string) => {
      sent.add(message(id, text));
      expect(sent.next()?.id).toBe(id);
      expect(sent.answered(response(id, disposition))).toBe(disposition);
    };
    sent.add(message("0", "/greet Ann"));
    expect(sent.taken("Greet Ann warmly.")).toBeUndefined();
    sent.clear();
    send("1", "/greet Ann", "queued");
    expect(sent.taken("Greet Ann warmly.")?.id).toBe("1");
    expect(sent.taken("Greet Ann warmly.")).toBeUndefined();
    send("2", "look", "queued");
    expect(sent.taken("not ours")).toBeUndefined();
    expect(sent.taken("look\n\n[Image: resized]")?.id).toBe("2");
    send("3", "plain", "started");
    expect(sent.taken("what an extension made of it")?.id).toBe("3");
  });

  test("[PI18] what an extension handled is waited for no longer", () => {
    const sent = new Sent();
    sent.add(message("1", "/cmd"));
    sent.next();
    expect(sent.answered(response("1", "handled"))).toBe("handled");
    expect(sent.open).toEqual([]);
  });

  test("[PI23] what follows is held until pi has said what became of the one before", () => {
    const sent = new Sent();
    sent.add(message("1", "one"));
    sent.add(message("2", "two"));
    expect(sent.next()?.id).toBe("1");
    expect(sent.next()).toBeUndefined();
    sent.answered(response("1", "started"));
    expect(sent.next()?.id).toBe("2");
    expect(sent.isUnanswered).toBe(true);
    sent.answered(response("2", "queued"));
    expect(sent.isUnanswered).toBe(false);
  });
});

describe("counters", () => {
  const stats = (input: number, cost: number) => ({ tokens: { input, output: 0 }, cost });
  const used = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

  test("[PI12] a counter that begins anew counts from nothing, a conversation's past never", () => {
    const meter = new Meter();
    meter.begin(stats(1_000, 5));
    expect(meter.rise(stats(1_000, 5), used)).toBeUndefined();
    expect(meter.rise(stats(1_300, 6), { ...used, input: 100, cost: 0.4 })).toMatchObject({
      input: 200,
      cost: 0.6,
    });
    expect(meter.rise(stats(50, 0.1), used)).toMatchObject({ input: 50, cost: 0.1 });
    expect(new Meter().rise(stats(9, 9), used)).toBeUndefined();
  });

  test("[PI12] a run that goes on counts from where it began, unless its counter began anew since", () => {
    const [earlier, meter] = [new Meter(), new Meter()];
    earlier.begin(stats(1_000, 5));
    meter.begin(stats(1_300, 6));
    meter.goOnFrom(earlier.stats);
    expect(meter.rise(stats(1_400, 7), used)).toMatchObject({ input: 400, cost: 2 });
    meter.begin(stats(0, 0));
    meter.goOnFrom(earlier.stats);
    expect(meter.rise(stats(50, 1), used)).toMatchObject({ input: 50, cost: 1 });
  });
});

describe("transcripts after a crash", () => {
  const entry = (message: object) => ({
    type: "message",
    id: "e",
    message: { timestamp: 1, ...message },
  });
  const user = (content: string) => entry({ role: "user", content });
  const answer = entry({ role: "assistant", content: "done", stopReason: "stop", timestamp: 2 });

  test("[PI13] the newest place counts, and a run without one has sent nothing", () => {
    expect(placeIn([])).toBeUndefined();
    const stats = { cost: 1 };
    expect(
      placeIn([
        placeLine({ after: "a", stats: {} }),
        { type: "agent_settled" },
        placeLine({ after: "b", stats }),
      ]),
    ).toEqual({ after: "b", stats });
    expect(placeIn([placeLine({ after: undefined, stats: {} })])).toMatchObject({
      after: undefined,
    });
  });

  test("[PI13] a prompt is absent, taken or cannot be told from another's word", () => {
    const asked = { prompt: "go", steers: [] };
    expect(foundIn([], [], asked)).toEqual({ how: "absent" });
    expect(foundIn([user("somebody else's")], [], asked)).toEqual({ how: "unclear" });
    expect(foundIn([user("go"), answer], [], asked)).toMatchObject({
      how: "taken",
      isAnswered: true,
    });
    expect(foundIn([user("go")], [], asked)).toMatchObject({ how: "taken", isAnswered: false });
    expect(foundIn([user("Greet Ann.")], [], { prompt: "/greet Ann", steers: [] })).toMatchObject({
      how: "taken",
    });
    expect(foundIn([user("(a line)\n\ngo")], [], asked)).toMatchObject({ how: "taken" });
  });

  test("[PI13] what was said before the prompt is no answer to it", () => {
    const early = entry({ role: "assistant", content: "mine", stopReason: "stop" });
    const line = { type: "message_end", message: early.message };
    const go = entry({ role: "user", content: "go", timestamp: 2 });
    const asked = { prompt: "go", steers: [] };
    for (const entries of [[early, go], [go]])
      expect(foundIn(entries, [line], asked)).toMatchObject({ isAnswered: false, steps: [] });
  });

  test("[PI13] an answer that only the log has is the answer; steers that are not there are sent", () => {
    const line = { type: "message_end", message: answer.message };
    expect(
      foundIn([user("go")], [line], { prompt: "go", steers: ["more", "/x", "less"] }),
    ).toMatchObject({
      isAnswered: true,
      steps: [{ isLogged: true }],
      unread: [0, 1, 2],
    });
    const read = foundIn([user("go"), user("more"), user("expanded"), answer], [], {
      prompt: "go",
      steers: ["more", "/x", "less"],
    });
    expect(read).toMatchObject({ unread: [2] });
    const noted = foundIn([user("go"), user(noteOf([])), answer], [], {
      prompt: "go",
      steers: ["/x"],
    });
    expect(noted).toMatchObject({ unread: [0] });
  });
});
