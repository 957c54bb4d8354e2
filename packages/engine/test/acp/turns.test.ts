import { afterEach, expect, test } from "vitest";
import { Rig, type RigOptions, untilShown } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions = {}): Promise<Rig> {
  const rig = await Rig.start(options);
  open.push(rig);
  return rig;
}

test("[AC1] a prompt is answered, and its conversation is known before it is sent", async () => {
  const rig = await start();
  expect(await rig.prompt("hello there")).toMatchObject({
    terminal: "completed",
    answer: "hello there",
  });
  const kinds = (await rig.entries()).map((entry) => entry.kind);
  expect(kinds.indexOf("harness.conversation")).toBeGreaterThan(kinds.indexOf("harness.process"));
  const sent = (await rig.entries()).findIndex(
    (entry) =>
      entry.kind === "harness.line" && JSON.stringify(entry.data).includes("session/prompt"),
  );
  expect(sent).toBeGreaterThan(kinds.indexOf("harness.conversation"));
  expect(rig.reported).toEqual([]);
});

test("[AC2] what streams is shown in pieces and stored once, whole", async () => {
  const rig = await start();
  const commandId = await rig.begin("think about it", "stream one |two |three", "wait go");
  await untilShown(rig, "one two three");
  rig.release("go");
  expect(await rig.settled(commandId)).toMatchObject({ answer: "one two three" });
  expect(await rig.data("message.assistant")).toMatchObject([
    {
      content: [
        { type: "thinking", text: "about it" },
        { type: "text", text: "one two three" },
      ],
      stop: "stop",
    },
  ]);
  expect(await rig.updates()).toEqual(["agent_thought_chunk", "agent_message_chunk"]);
});
