import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { openChat, say, setModels } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

test("[U10] the sessions are listed, the ones with something unread are marked, and one is gone on with", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Red apples.", "Green pears."] });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "mine", rows: 30 });
  await chat.until("one");
  await say(chat, "about apples");
  await chat.until("Red apples.");
  await home.run(["invoke", "about pears", dir, "--session", "other"]);
  await chat.until(/unread/);
  await chat.press("C-r");
  const listed = await chat.until((lines) => lines.some((line) => line.includes("pears")));
  expect(listed.find((line) => line.includes("pears"))).toContain("●");
  await chat.type("pears");
  await chat.press("Enter");
  await chat.until("▌ about pears");
  await chat.untilGone("▌ about apples");
  await chat.untilGone(/unread/);
});

test("[U10] a text is found in the conversation, and what was found is shown", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const long = Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n\n");
  await Provider.start(home, dir, { steps: ["The needle lies here.", long], then: "Heard." });
  await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await say(chat, "first");
  await chat.until("needle");
  await say(chat, "second");
  await chat.until("line 59");
  await chat.untilGone("needle");
  await say(chat, "/search needle");
  await chat.until("needle");
  await chat.press("Enter");
  await chat.until("The needle lies here.");
});

test("[U11] the model and the level of reasoning are switched, and the next run uses them", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  await setModels(dir, [
    { id: "one", reasoning: true },
    { id: "two", reasoning: true },
  ]);
  const host = await StartedHost.start(home, dir);
  await using chat = await openChat(home, dir, { session: "s", cols: 120 });
  await chat.until("scripted/one");
  await chat.press("C-l");
  await chat.until("scripted/two");
  // Nobody waits for a list to follow before pressing enter.
  await say(chat, "two");
  await chat.until(/ready.*scripted\/two/);
  await chat.press("BTab");
  await chat.until(/thinks (minimal|low|medium)/);
  await say(chat, "go");
  await chat.until("Heard.");
  const asked = (await host.entries("s")).find(({ kind }) => kind === "message.assistant");
  expect(JSON.stringify(asked)).toContain("two");
});

test("[U11] the colours are switched", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await say(chat, "hello");
  await chat.until("Heard.");
  const dark = await chat.styled();
  await say(chat, "/theme light");
  await chat.until("Heard.");
  await expect.poll(() => chat.styled()).not.toEqual(dark);
});

test("[U10] --continue goes on with the latest session, --resume with one that is chosen", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Red apples.", "Green pears."] });
  await StartedHost.start(home, dir);
  await home.run(["invoke", "about apples", dir, "--session", "one"]);
  await home.run(["invoke", "about pears", dir, "--session", "two"]);
  await using latest = await openChat(home, dir, { args: ["--continue"] });
  await latest.until("▌ about pears");
  await using chosen = await openChat(home, dir, { args: ["--resume"] });
  await chosen.until("Red apples.");
  await say(chosen, "apples");
  await chosen.until("▌ about apples");
});
