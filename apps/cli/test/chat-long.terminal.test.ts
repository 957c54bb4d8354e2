import { join } from "node:path";
import { expect, test } from "vitest";
import { lengthenSession } from "../../../bench/seed.ts";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { openChat } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import { Proxy } from "./proxy.ts";

const entries = 10_000;

test("[U8] a session of 10,000 entries opens as fast as a short one: a page is asked for, and earlier ones only by who scrolls up", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const turn = (at: number) => [
    { parts: [{ text: `I note ${at}.` }, { call: { name: "note", input: { text: `n${at}` } } }] },
    `Noted ${at}, and this is what there is to say about it.`,
  ];
  await Provider.start(home, dir, { steps: [1, 2, 3, 4].flatMap(turn) });
  const state = home.path("state");
  const stated = ["--state", state];
  for (const at of [1, 2, 3])
    await home.run(["invoke", `note ${at}`, dir, "--session", "long", ...stated]);
  await home.run(["invoke", "note 4", dir, "--session", "short", ...stated]);
  lengthenSession(join(state, "host.db"), "long", entries);
  const host = await StartedHost.start(home, dir, stated);
  await using proxy = await Proxy.before(host.url, state, home.path("seen"));
  const open = async (session: string, newest: string): Promise<number> => {
    const begun = performance.now();
    await using chat = await openChat(home, dir, {
      session,
      args: ["--state", home.path("seen")],
    });
    await chat.until(newest);
    return performance.now() - begun;
  };
  const long: number[] = [];
  const short: number[] = [];
  for (let round = 0; round < 3; round++) {
    long.push(await open("long", "Noted 3"));
    short.push(await open("short", "Noted 4"));
  }

  const [firstLong] = proxy.passed.filter(({ path }) => path.includes("/sessions/long"));
  const asked = proxy.passed.filter(({ path }) => path.includes("/sessions/long")).length / 3;
  expect(asked).toBeLessThanOrEqual(2);
  expect(firstLong?.text.match(/"seq":/g)?.length).toBeLessThanOrEqual(201);

  // The fastest of each: what else the computer does only adds.
  const [longMs, shortMs] = [Math.min(...long), Math.min(...short)];
  console.log(
    `a chat with ${entries} entries opens in ${Math.round(longMs)} ms, one with a few in ${Math.round(shortMs)} ms`,
  );
  expect(longMs - shortMs).toBeLessThan(1_000);

  proxy.passed.length = 0;
  await using chat = await openChat(home, dir, {
    session: "long",
    args: ["--state", home.path("seen")],
  });
  await chat.until("Noted 3");
  await chat.press("C-Home");
  await chat.until(() =>
    proxy.passed.some(({ path }) => path.includes("before=") && path.includes("/long")),
  );
});
