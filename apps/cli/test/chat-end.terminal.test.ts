import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { everyLine, openChat, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

/** A chat with one turn behind it. */
async function afterOneTurn(home: Home): Promise<Terminal> {
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Hello back." });
  const chat = await openChat(home, dir, { session: "s", above: "$ what stood there before" });
  await chat.until("one");
  await say(chat, "Hello");
  await chat.until("Hello back.");
  return chat;
}

async function isAsBefore(chat: Terminal): Promise<void> {
  expect(await chat.modes()).toMatchObject({
    alternate: false,
    cursor: { isVisible: true },
    mouse: false,
    bracketedPaste: false,
    lineSettings: "as before",
  });
  expect((await chat.screen()).join("\n")).toContain("$ what stood there before");
}

const ways: readonly (readonly [string, (chat: Terminal) => Promise<void>])[] = [
  ["ctrl+d", (chat) => chat.press("C-d")],
  ["ctrl+c twice", (chat) => chat.press("C-c", "C-c")],
  ["/quit", (chat) => say(chat, "/quit")],
];

test.each(ways)(
  "[U14] %s leaves with 0, and the terminal is as it was before",
  async (_, leave) => {
    await using home = await Home.make();
    await using chat = await afterOneTurn(home);
    await leave(chat);
    expect(await chat.exitCode()).toBe(0);
    await isAsBefore(chat);
  },
);

test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)(
  "[U14] %s ends the chat, and the terminal is as it was before",
  async (signal, code) => {
    await using home = await Home.make();
    await using chat = await afterOneTurn(home);
    await chat.signal(signal);
    expect([code, 0]).toContain(await chat.exitCode());
    await isAsBefore(chat);
  },
);

test("[U14] a terminal that goes away ends the chat", async () => {
  await using home = await Home.make();
  await using chat = await afterOneTurn(home);
  const { pid } = chat;
  await chat.hangUp();
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

test("[U13] two chats on one session show the same, whoever writes", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["To the first.", "To the second."] });
  await StartedHost.start(home, dir);
  await using first = await openChat(home, dir, { session: "s" });
  await first.until("one");
  await say(first, "from the first");
  await first.until("To the first.");
  await using second = await openChat(home, dir, { session: "s" });
  await second.until("To the first.");
  await say(second, "from the second");
  await Promise.all([first.until("To the second."), second.until("To the second.")]);
  const seen = await Promise.all([everyLine(first), everyLine(second)]);
  for (const lines of seen)
    for (const text of ["▌ from the first", "▌ from the second", "To the first.", "To the second."])
      expect(timesSeen(lines, text), text).toBe(1);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
