import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { openChat, say, setModels } from "./chat.ts";
import { Home } from "./process.ts";

/** A dot. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("[U12] an image is attached by its path or by pasting it, is shown, and reaches the model", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["A dot.", "Two dots."] });
  await setModels(dir, [{ id: "one", input: ["text", "image"] }]);
  await writeFile(home.path("a dot.png"), png);
  await writeFile(home.path("other.png"), png);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await chat.paste(`'${home.path("a dot.png")}'`);
  await chat.until(/a dot\.png/);
  await say(chat, "What is this?");
  await chat.until("A dot.");
  expect((await chat.screen()).join("\n")).toContain("[image png");
  await say(chat, `/attach ${home.path("other.png")}`);
  await chat.until(/other\.png/);
  await chat.paste(home.path("a dot.png"));
  await chat.until(/a dot\.png/);
  await say(chat, "And these?");
  await chat.until("Two dots.");
  const requests = (await readFile(home.path("requests.jsonl"), "utf8")).trim().split("\n");
  const images = (at: number) => requests[at]?.split(png.toString("base64")).length ?? 0;
  expect(images(0) - 1).toBe(1);
  expect(images(1) - 1).toBe(3);
});

test("[U12] what is no image is refused with what to do, and nothing is attached", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Fine."] });
  await writeFile(home.path("letter.png"), "Dear friend");
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await say(chat, `/attach ${home.path("letter.png")}`);
  await chat.until("letter.png is no image that models take");
  await say(chat, `/attach ${home.path("nothing.png")}`);
  await chat.until(/There is no file/);
  await say(chat, "Well then");
  await chat.until("Fine.");
});

test("[U12] a long text that is pasted stands as one mark in the editor and is sent whole", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Read."] });
  const lines = Array.from({ length: 300 }, (_, at) => `pasted line ${at}\twith a tab`);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await chat.type("Read this: ");
  await chat.paste(lines.join("\n"));
  await chat.until(/\[paste #1 \+300 lines\]/);
  expect((await chat.screen()).join("\n")).not.toContain("pasted line 7");
  await chat.press("Enter");
  await chat.until("Read.");
  const request = await readFile(home.path("requests.jsonl"), "utf8");
  for (const at of [0, 150, 299]) expect(request).toContain(`pasted line ${at}`);
  expect(request).not.toContain("[paste #1");
});

test("[U12] a pasted text sends nothing by itself, whatever line ends it has", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: ["Read."] });
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await chat.paste("one\ntwo\n/quit\n");
  await chat.until("/quit");
  expect(await provider.requests()).toBe(0);
  await chat.type("three");
  await chat.press("Enter");
  await chat.until("Read.");
  expect(await readFile(home.path("requests.jsonl"), "utf8")).toContain("three");
});
