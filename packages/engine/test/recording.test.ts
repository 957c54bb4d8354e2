import type { AssistantMessage, Context, Message } from "@earendil-works/pi-ai";
import { createInitialSystemMessage } from "@earendil-works/pi-ai/utils/transcript";
import { expect, test } from "vitest";
import {
  createModels,
  demoSpec,
  type Models,
  recordAnswers,
  type RecordedAnswer,
  replayAnswers,
} from "../src/index.ts";

const note = {
  name: "note",
  description: "Writes a note down.",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

function contextOf(said: string, ...more: Message[]): Context {
  const system = createInitialSystemMessage("You keep notes.", [note])!;
  const user: Message = { role: "user", content: said, timestamp: 0 };
  return { messages: [{ ...system, timestamp: 0 }, user, ...more] };
}

async function ask(models: Models, context: Context): Promise<AssistantMessage> {
  const stream = await models.stream(await models.resolveModel(demoSpec), context, {});
  return stream.result();
}

test("[Y7] an answer that was recorded comes again at the same place of a conversation, whatever its words are", async () => {
  const kept: RecordedAnswer[] = [];
  const recording = recordAnswers(createModels(), (answer) => kept.push(answer));
  const first = await ask(recording, contextOf('write a note that says "hello"'));
  expect(first.stopReason).toBe("toolUse");
  await ask(recording, contextOf("never mind", first, resultOf(first, "noted hello")));
  expect(kept).toHaveLength(2);

  const answers = JSON.parse(JSON.stringify(kept)) as RecordedAnswer[];
  const replaying = replayAnswers(createModels(), answers);
  const again = await ask(replaying, contextOf("other words"));
  expect(again.content).toEqual(first.content);
  const second = await ask(replaying, contextOf("x", first, resultOf(first, "interrupted")));
  expect(second.content).toEqual(kept[1]!.message.content);
});

test("[Y7] a conversation that goes further than the recorded one is ended, and asks no provider", async () => {
  const replaying = replayAnswers(createModels(), []);
  const answer = await ask(replaying, contextOf('write a note that says "hello"'));
  expect(answer).toMatchObject({
    stopReason: "stop",
    content: [{ type: "text", text: expect.stringContaining("No answer was recorded") }],
  });
});

function resultOf(message: AssistantMessage, text: string): Message {
  const call = message.content.find((block) => block.type === "toolCall")!;
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text }],
    isError: false,
    timestamp: 0,
  };
}
