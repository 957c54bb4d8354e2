import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { everyLine, openChat, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const waits = (gate: string, before: string, after: string) => ({
  parts: [{ text: before }, { gate }, { text: after }],
});

test("[U4] while a run works, enter sends into it and alt+enter queues behind it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const note = { call: { name: "note", input: { text: "n" } } };
  const provider = await Provider.start(home, dir, {
    steps: [
      { parts: [{ text: "One begins." }, { gate: "g" }, note] },
      "One is done.",
      "Two is done.",
    ],
  });
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", rows: 40 });
  await chat.until("scripted/one");
  await say(chat, "first");
  await provider.atGate("g");
  await chat.type("later");
  await chat.press("M-Enter");
  await chat.until("queued: later");
  await say(chat, "into it");
  await chat.until(/(queued|joins what runs): into it/);
  await provider.open("g");
  await chat.until("Two is done.");
  const lines = await everyLine(chat);
  for (const text of ["▌ first", "▌ later", "into it"]) expect(timesSeen(lines, text)).toBe(1);
  const order = ["One begins.", "into it", "One is done.", "▌ later", "Two is done."];
  const places = order.map((text) => lines.findIndex((line) => line.includes(text)));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  const queued = (await host.entries("s")).filter(({ kind }) => kind === "command.queued");
  expect(queued).toHaveLength(3);
});

test("[U4] a queued message is taken back into the editor, changed and sent: it runs once, as it was sent last", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [waits("g", "One ", "is done."), "Two is done."],
  });
  await using chat = await openChat(home, dir, { session: "s", rows: 40 });
  await chat.until("scripted/one");
  await say(chat, "first");
  await provider.atGate("g");
  await chat.type("secnod");
  await chat.press("M-Enter");
  await chat.until("queued: secnod");
  await chat.press("M-Up");
  await chat.untilGone("queued: secnod");
  await chat.press("BSpace", "BSpace", "BSpace", "BSpace");
  await chat.type("cond, better");
  await chat.press("M-Enter");
  await chat.until("queued: second, better");
  await provider.open("g");
  await chat.until("Two is done.");
  expect(await provider.requests()).toBe(2);
  const lines = await everyLine(chat);
  expect(timesSeen(lines, "▌ second, better")).toBe(1);
  expect(timesSeen(lines, "▌ secnod")).toBe(0);
});

test("[U4] escape stops the run; what was said stays, and the next message is answered", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [waits("never", "Half a ", "sentence"), "Here again."],
  });
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("scripted/one");
  await say(chat, "Talk on");
  await provider.atGate("never");
  await chat.until("Half a");
  await chat.press("Escape");
  await chat.until("the run was cancelled");
  await say(chat, "And now?");
  await chat.until("Here again.");
});

test("[U1] an answer that is too long for the log itself stands on the screen whole, and so does a long message", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const answer = `BEGIN ${"word ".repeat(10_000)} FINIS`;
  await Provider.start(home, dir, { steps: [answer] });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("scripted/one");
  await say(chat, "Tell me");
  await chat.until("FINIS");
  await chat.until(/^ready/m);
  await chat.until("FINIS");
  expect((await chat.screen()).join("\n")).not.toContain("in the log");
  await chat.press("C-Home");
  await chat.until("BEGIN word");
});

test("[U10] a session is called what its first message says", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Well.", "Well."] });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir);
  await chat.until("scripted/one");
  await say(chat, "Plan the garden");
  await chat.until("ready · agent · Plan the garden");
  await chat.press("C-n");
  await chat.until("Type a message");
  await say(chat, "Mend the roof");
  await chat.until("ready · agent · Mend the roof");
  await chat.press("C-r");
  await chat.until((lines) => lines.some((line) => line.includes("Plan the garden")), "both");
});
