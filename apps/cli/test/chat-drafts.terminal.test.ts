// What was begun stays where it was begun, and what cannot go comes back.

import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { openChat, say } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

test("[U4] a draft and its images wait in their session, also in one that has no message yet", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Hello."] });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { rows: 30 });
  await chat.until("scripted/one");
  await say(chat, "First");
  await chat.until("Hello.");
  await chat.press("C-n");
  await chat.until("Type a message");
  await chat.type("half of something");
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await chat.paste(`data:image/png;base64,${png}`);
  await chat.until("/detach leaves it out");
  await chat.press("C-r");
  await chat.until("Sessions, the latest active first");
  await chat.until("just now");
  await chat.press("Enter");
  await chat.until("Hello.");
  await chat.until("ctrl+n goes back to it");
  const first = (await chat.screen()).join("\n");
  expect(first).not.toContain("half of something");
  expect(first).not.toContain("/detach");
  await chat.press("C-n");
  await chat.until(/^half of something/m);
  await chat.until("/detach leaves it out");
});

test("[U4] a message taken back during an outage comes back to its own session, once", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Hello."] });
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", rows: 30 });
  await chat.until("scripted/one");
  await say(chat, "First");
  await chat.until("Hello.");
  await host.running.stop("SIGKILL");
  await chat.until("No connection since");
  await say(chat, "precious words");
  await chat.until("waits for the connection: precious words");
  await chat.press("M-Up", "M-Up", "M-Up");
  await chat.until("being taken back: precious words");
  await chat.press("C-n");
  await chat.until("Type a message");
  await StartedHost.start(home, dir);
  await chat.until("as a draft in its session s");
  expect((await chat.screen()).join("\n")).not.toMatch(/^precious/m);
  await chat.press("C-r");
  await chat.until("just now");
  await chat.press("Enter");
  await chat.until(/^precious words$/m);
  expect((await chat.screen()).filter((line) => line.includes("precious words"))).toHaveLength(1);
});

test("[U6] a message that was called back before the chat was killed is a draft in the next one", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Hello."] });
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", rows: 30 });
  await chat.until("scripted/one");
  await say(chat, "First");
  await chat.until("Hello.");
  await host.running.stop("SIGKILL");
  await chat.until("No connection since");
  await say(chat, "precious words");
  await chat.until("waits for the connection: precious words");
  await chat.press("M-Up");
  await chat.until("being taken back: precious words");
  await chat.signal("SIGKILL");
  const again = await StartedHost.start(home, dir);
  await using next = await openChat(home, dir, { session: "s", rows: 30 });
  await next.until(/^precious words$/m);
  await next.untilGone("being taken back");
  const said = (await again.entries("s")).filter(({ kind }) => kind === "command.queued");
  expect(said).toHaveLength(1);
});

test("[U6] a message that cannot be kept comes back above what was begun meanwhile, and says why", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Hello."] });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", rows: 30 });
  await chat.until("scripted/one");
  const chats = join(home.dir, ".local/share/lichen/chat");
  const [folder = ""] = await readdir(chats);
  await mkdir(join(chats, folder, "outbox/items"), { recursive: true });
  await blocked(join(chats, folder, "outbox/items"), async () => {
    await say(chat, "the first message");
    await chat.until("was not kept and not sent");
    await chat.until(/^the first message/m);
  });
});

/** Nothing can be written there, not even by root: a file stands in the folder's place. */
async function blocked(path: string, work: () => Promise<void>): Promise<void> {
  const aside = `${path}.aside`;
  await rename(path, aside);
  await writeFile(path, "");
  try {
    await work();
  } finally {
    await rm(path);
    await rename(aside, path);
  }
}
