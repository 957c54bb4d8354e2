// The demo model: what answers a newcomer who has no key. A few rules and no language model, and it says so.
//
// It is an ordinary provider to the rest of the engine: it streams word by word, calls the agent's tools when asked,
// and tells what they answered. The same conversation gets the same answer.

import type {
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  Message,
  Model,
  Provider,
  SimpleStreamOptions,
  Tool,
  ToolCall,
} from "@earendil-works/pi-ai";
import { createProvider } from "@earendil-works/pi-ai/models";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai/utils/event-stream";
import { getCurrentTools } from "@earendil-works/pi-ai/utils/transcript";
import { noUsage } from "./context.ts";
import { demoReply, type DemoTool } from "./demo-reply.ts";
import type { After } from "./retry.ts";

export const demoSpec = "lichen/demo";

const wordMs = 12;

const demoModel: Model<"lichen-demo"> = {
  id: "demo",
  name: "Lichen demo (rules, no language model)",
  provider: "lichen",
  api: "lichen-demo",
  baseUrl: "lichen:demo",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 8_192,
};

/** `after` paces the words; without it they come as fast as they are read. */
export function demoProvider(after?: After): Provider {
  const stream = (model: Model<string>, context: Context, options?: SimpleStreamOptions) =>
    answer(model, context, after, options?.signal);
  return createProvider({
    id: "lichen",
    name: "Lichen",
    auth: {
      apiKey: { name: "none", resolve: async () => ({ auth: {}, source: "built in" }) },
    },
    models: [demoModel],
    api: { stream, streamSimple: stream },
  });
}

function answer(
  model: Model<string>,
  context: Context,
  after: After | undefined,
  signal: AbortSignal | undefined,
): AssistantMessageEventStream {
  const out = createAssistantMessageEventStream();
  const message: AssistantMessage = {
    role: "assistant",
    content: [],
    provider: model.provider,
    api: model.api,
    model: model.id,
    usage: noUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
  const reply = demoReply(heard(context.messages), toolsOf(context.messages));
  void say().catch((error: unknown) => {
    message.stopReason = "error";
    message.errorMessage = error instanceof Error ? error.message : String(error);
    out.push({ type: "error", reason: "error", error: message });
  });
  return out;

  async function say(): Promise<void> {
    out.push({ type: "start", partial: message });
    const block = { type: "text" as const, text: "" };
    message.content.push(block);
    out.push({ type: "text_start", contentIndex: 0, partial: message });
    for (const delta of reply.text.match(/\S+\s*|\s+/g) ?? []) {
      await pause(after);
      if (signal?.aborted) {
        message.stopReason = "aborted";
        out.push({ type: "error", reason: "aborted", error: message });
        return;
      }
      block.text += delta;
      out.push({ type: "text_delta", contentIndex: 0, delta, partial: message });
    }
    out.push({ type: "text_end", contentIndex: 0, content: block.text, partial: message });
    if (reply.call) call(reply.call);
    message.usage.input = tokens(JSON.stringify(context.messages));
    message.usage.output = tokens(JSON.stringify(message.content));
    message.usage.totalTokens = message.usage.input + message.usage.output;
    message.stopReason = reply.call ? "toolUse" : "stop";
    out.push({ type: "done", reason: message.stopReason, message });
  }

  function call({ name, input }: NonNullable<typeof reply.call>): void {
    const toolCall: ToolCall = {
      type: "toolCall",
      id: `demo_${context.messages.length}`,
      name,
      arguments: input,
    };
    const contentIndex = message.content.push(toolCall) - 1;
    out.push({ type: "toolcall_start", contentIndex, partial: message });
    out.push({
      type: "toolcall_delta",
      contentIndex,
      delta: JSON.stringify(input),
      partial: message,
    });
    out.push({ type: "toolcall_end", contentIndex, toolCall, partial: message });
  }
}

/** What was said last: the user's newest words, or the results of the calls that were made. */
function heard(messages: readonly Message[]): Parameters<typeof demoReply>[0] {
  const results: { name: string; text: string; isError: boolean }[] = [];
  for (const message of messages.toReversed()) {
    if (message.role === "toolResult")
      results.unshift({
        name: message.toolName,
        text: message.content.map((it) => (it.type === "text" ? it.text : "(an image)")).join("\n"),
        isError: message.isError,
      });
    else if (message.role === "user") {
      if (results.length > 0) break;
      const { content } = message;
      if (typeof content === "string") return { said: content, images: 0, results };
      const texts = content.flatMap((it) => (it.type === "text" ? [it.text] : []));
      return { said: texts.at(-1) ?? "", images: content.length - texts.length, results };
    } else if (message.role === "assistant") break;
  }
  return { said: "", images: 0, results };
}

function toolsOf(messages: readonly Message[]): DemoTool[] {
  return getCurrentTools(messages).map((tool: Tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
  }));
}

function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function pause(after: After | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (after) after(wordMs, resolve);
    else resolve();
  });
}
