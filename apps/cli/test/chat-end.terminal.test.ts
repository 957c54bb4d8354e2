import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { everyLine, openChat, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const leaves = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Leaves.",
  label: "read",
  input: z.object({}),
  execute: () => process.exit(3),
});
`;

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

test("[U14] a chat that is suspended gives the terminal back, and paints itself again when it goes on", async () => {
  await using home = await Home.make();
  await using chat = await afterOneTurn(home);
  await chat.press("C-z");
  await chat.until("$ what stood there before");
  await expect.poll(() => chat.modes()).toMatchObject({ alternate: false, bracketedPaste: false });
  await chat.foreground();
  await chat.until("Hello back.");
  await say(chat, "once more");
  await chat.until("▌ once more");
  expect((await chat.modes()).alternate).toBe(true);
});

test("[U14] a chat whose process is ended from within, by a tool, leaves the terminal as it was before", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/leave.ts": leaves });
  await Provider.start(home, dir, { steps: [{ parts: [{ call: { name: "leave", input: {} } }] }] });
  await using chat = await openChat(home, dir, { above: "$ what stood there before" });
  await chat.until("one");
  await say(chat, "Leave");
  expect(await chat.exitCode()).toBe(3);
  await isAsBefore(chat);
});

test("[U15] without a terminal, or without an agent, it says so and what to do, and paints nothing", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const piped = await home.run(["chat", dir]);
  expect(piped).toMatchObject({ code: 1, stdout: "" });
  expect(piped.stderr).toMatch(/needs a terminal.*lichen send/s);
  await using chat = await openChat(home, home.path("nowhere"), { above: "$ before" });
  expect(await chat.exitCode()).toBe(1);
  await chat.until("$ before");
  await chat.until(/lichen: .*nowhere/s);
  expect(await chat.modes()).toMatchObject({ alternate: false, lineSettings: "as before" });
});

test("[U15] a second chat on a store that another one holds says who holds it", async () => {
  await using home = await Home.make();
  await using first = await afterOneTurn(home);
  await using second = await openChat(home, home.path("agent"), { session: "s" });
  expect(await second.exitCode()).toBe(1);
  await second.until("in use by another process");
  await say(first, "still here");
  await first.until("▌ still here");
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
