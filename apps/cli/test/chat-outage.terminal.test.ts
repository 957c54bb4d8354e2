import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { aboveEditor, everyLine, openChat, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const away = "No connection since";

test("[U5] a host that is killed while it streams is waited for, aloud; the answer is there once when it is back", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [
      "Before.",
      { parts: [{ text: "Half of it" }, { gate: "g" }, { text: " is lost" }] },
      "All of it.",
    ],
  });
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("scripted/one");
  await say(chat, "one");
  await chat.until("Before.");
  await say(chat, "two");
  await provider.atGate("g");
  await chat.until("Half of it");
  await host.running.stop("SIGKILL");
  await chat.until(away);
  const again = await StartedHost.start(home, dir);
  await chat.untilGone(away);
  await chat.until("All of it.");
  await say(chat, "three");
  const lines = await everyLine(chat);
  for (const text of ["▌ one", "▌ two", "Before.", "All of it."])
    expect(timesSeen(lines, text), text).toBe(1);
  expect(timesSeen(lines, "Half of it")).toBe(0);
  expect(await again.entries("s")).not.toHaveLength(0);
});

test("[U5] a message that is sent while the host is down is kept, and runs once when it is back", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: ["Before."], then: "Heard." });
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("scripted/one");
  await say(chat, "one");
  await chat.until("Before.");
  await host.running.stop("SIGKILL");
  await chat.until(away);
  await say(chat, "are you there");
  await chat.until("waits for the connection: are you there");
  await StartedHost.start(home, dir);
  await chat.until("Heard.");
  await chat.untilGone(away);
  expect(await provider.requests()).toBe(2);
  const lines = await everyLine(chat);
  expect(timesSeen(lines, "are you there")).toBe(1);
});

test("[U5] however often the host dies just as a message is sent, each message runs once", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  let host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", rows: 60 });
  await chat.until("scripted/one");
  const texts = ["at once", "when it shows", "when it runs"];
  for (const [at, text] of texts.entries()) {
    await say(chat, text);
    if (at === 1) await chat.until(/(sending|queued): |▌ when it shows/);
    if (at === 2) await chat.until(`▌ ${text}`);
    await host.running.stop("SIGKILL");
    // A session that does not exist yet has no connection to lose: the message says what it waits for.
    await chat.until(/No connection since|waits for the connection/);
    host = await StartedHost.start(home, dir);
    await chat.untilGone(/No connection since|waits for the connection/);
    await chat.until(
      (lines) => timesSeen(aboveEditor(lines), "Heard.") === at + 1,
      `answer ${at + 1}`,
    );
  }
  const lines = await everyLine(chat);
  for (const text of texts) expect(timesSeen(lines, `▌ ${text}`), text).toBe(1);
  const said = (await host.entries("s")).filter(({ kind }) => kind === "message.user");
  expect(said.map(({ data }) => data["text"])).toEqual(texts);
});

test("[U5] without a host the chat holds the store itself; killed while it streams, the next chat goes on", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [
      "Before.",
      { parts: [{ text: "Half of it" }, { gate: "g" }, { text: " is lost" }] },
      "All of it.",
    ],
  });
  await using first = await openChat(home, dir, { session: "s" });
  await first.until("scripted/one");
  await say(first, "one");
  await first.until("Before.");
  await say(first, "two");
  await provider.atGate("g");
  await first.until("Half of it");
  await first.signal("SIGKILL");
  await first.exitCode();
  await using second = await openChat(home, dir, { session: "s" });
  await second.until("All of it.");
  const lines = await everyLine(second);
  for (const text of ["▌ one", "▌ two", "Before.", "All of it."])
    expect(timesSeen(lines, text), text).toBe(1);
  expect(timesSeen(lines, "Half of it")).toBe(0);
});

test("[U6] a chat that is killed right after enter has lost nothing: the next chat sends the message once", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: ["Before."], then: "Heard." });
  const host = await StartedHost.start(home, dir);
  const first = await openChat(home, dir, { session: "s" });
  await first.until("scripted/one");
  await say(first, "one");
  await first.until("Before.");
  // The host is away, so that the message has to be kept here.
  await host.running.stop("SIGKILL");
  await first.until(away);
  await say(first, "remember me");
  await first.until("waits for the connection: remember me");
  await first.signal("SIGKILL");
  expect(await first.exitCode()).toBe(137);
  await first[Symbol.asyncDispose]();
  expect(await provider.requests()).toBe(1);

  await StartedHost.start(home, dir);
  await using second = await openChat(home, dir, { session: "s" });
  await second.until("Heard.");
  expect(await provider.requests()).toBe(2);
  expect(timesSeen(await everyLine(second), "remember me")).toBe(1);
});
