import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { everyLine, openChat, say, timesSeen } from "./chat.ts";
import { Home } from "./process.ts";

/** An agent whose store another command holds until the gate `held` is opened. */
async function held(home: Home): Promise<{ dir: string; provider: Provider }> {
  const dir = await writeAgent(home);
  const steps = [{ parts: [{ gate: "held" }, { text: "Let go." }] }, "First.", "Second."];
  const provider = await Provider.start(home, dir, { steps });
  home.start(["invoke", "hold it", dir, "--session", "other"]);
  await provider.atGate("held");
  return { dir, provider };
}

test("[U43] what is sent before the agent is reached waits in sight and goes in its order once it is", async () => {
  await using home = await Home.make();
  const { dir, provider } = await held(home);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until(/Type a message|…/);
  await say(chat, "early one");
  await chat.until("sent once the agent is reached: early one");
  await say(chat, "never mind");
  await chat.until("sent once the agent is reached: never mind");
  await chat.press("Escape");
  await chat.until((lines) => timesSeen(lines, "reached: never mind") === 0, "it is taken back");
  for (let at = 0; at < "never mind".length; at++) await chat.press("BSpace");
  await say(chat, "early two");
  await chat.until("sent once the agent is reached: early two");
  await provider.open("held");
  await chat.until("First.");
  await chat.until("Second.");
  const lines = (await everyLine(chat)).join("\n");
  expect(lines).toMatch(/early one[^]*First\.[^]*early two[^]*Second\./);
  expect(lines).not.toContain("never mind");
});

test("[U43] who leaves before the agent is reached is told what was not sent", async () => {
  await using home = await Home.make();
  const { dir } = await held(home);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until(/Type a message|…/);
  await say(chat, "too early");
  await chat.until("sent once the agent is reached: too early");
  await chat.press("C-d");
  await chat.until("not sent, since the agent was not reached: too early");
});
