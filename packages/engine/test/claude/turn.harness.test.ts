import { afterEach, expect, test } from "vitest";
import { Rig } from "./rig.ts";

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

test("[CC1] a turn is its lines and the messages that they mean, with its answer and usage", async () => {
  rig = await Rig.start({
    script: [
      { parts: [{ thinking: ["Let me ", "see."] }, { text: ["Hel", "lo."] }] },
      { parts: [{ text: "Again." }], usage: { input: 7, output: 3 } },
    ],
  });
  const first = await rig.prompt("Say hello.");
  expect(first).toMatchObject({ terminal: "completed", answer: "Hello." });
  expect(first.usage).toMatchObject({ input: 10, output: 5 });
  const messages = await rig.data("message.assistant");
  expect(messages.map(({ content }) => content)).toEqual([
    [{ type: "thinking", text: "Let me see.", signature: expect.any(String) }],
    [{ type: "text", text: "Hello." }],
  ]);
  expect(await rig.lines()).toEqual([
    "system/init",
    "system/status",
    "user",
    "assistant",
    "assistant",
    "result/success",
  ]);
  const kinds = (await rig.entries()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("harness"))).toContain("harness.conversation");
  const second = await rig.prompt("Once more.");
  expect(second).toMatchObject({ answer: "Again.", usage: { input: 7, output: 3 } });
  expect(
    rig.provider.requests
      .at(-1)
      ?.messages.map(({ text }) => text)
      .join(),
  ).toContain("Hello.");
  expect(rig.reported).toEqual([]);
});
