// Answers of models, recorded in one run and given again in others, so that repeating a conversation costs nothing.
//
// An answer belongs to a place in a conversation: which roles spoke before it. Texts don't count, since they hold what
// differs between two runs of the same conversation (times, folders, the word that a call was interrupted). A
// conversation that went further than the recorded one gets an answer that ends it. Nothing is asked of a provider.

import type {
  Api,
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  Model,
} from "@earendil-works/pi-ai";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai/utils/event-stream";
import { getCurrentTools } from "@earendil-works/pi-ai/utils/transcript";
import { noUsage } from "./context.ts";
import type { Models } from "./models.ts";

/** Plain data: it can be written to a file as JSON. */
export interface RecordedAnswer {
  readonly place: string;
  readonly message: AssistantMessage;
}

/** The same models; `keep` is told every answer that came whole. */
export function recordAnswers(models: Models, keep: (answer: RecordedAnswer) => void): Models {
  return withStream(models, async (model, context, options) => {
    const place = placeOf(context);
    const stream = await models.stream(model, context, options);
    void stream.result().then(
      (message) => {
        if (endOf(message) !== undefined) keep({ place, message: structuredClone(message) });
      },
      () => {
        // An answer that did not come whole is the caller's to see.
      },
    );
    return stream;
  });
}

/** The same models, except that every answer is a recorded one. */
export function replayAnswers(models: Models, answers: readonly RecordedAnswer[]): Models {
  const places = new Map<string, AssistantMessage[]>();
  for (const { place, message } of answers)
    places.set(place, [...(places.get(place) ?? []), message]);
  return withStream(models, async (model, context) => {
    const recorded = places.get(placeOf(context));
    // Asked again at the same place, it said something else: in that order, and its last word from then on.
    const message = recorded && recorded.length > 1 ? recorded.shift() : recorded?.[0];
    return play(message ? structuredClone(message) : closing(model));
  });
}

function withStream(models: Models, stream: Models["stream"]): Models {
  return {
    whichModel: (configured) => models.whichModel(configured),
    resolveModel: (spec) => models.resolveModel(spec),
    checkSettings: (settings) => models.checkSettings(settings),
    listModels: (search) => models.listModels(search),
    secretsOf: (model) => models.secretsOf(model),
    login: (provider, interaction, way) => models.login(provider, interaction, way),
    logout: (provider) => models.logout(provider),
    listProviders: () => models.listProviders(),
    useModelsJson: (text) => models.useModelsJson(text),
    stream,
  };
}

/** A request for a summary is the one without tools. */
function placeOf({ messages }: Context): string {
  const purpose = getCurrentTools(messages).length > 0 ? "turn" : "text";
  return [purpose, ...messages.map(({ role }) => role)].join(" ");
}

function closing(model: Model<Api>): AssistantMessage {
  return {
    role: "assistant",
    content: [
      { type: "text", text: "(No answer was recorded for this part of the conversation.)" },
    ],
    provider: model.provider,
    api: model.api,
    model: model.id,
    usage: noUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
}

/** The whole message at once, in the events of a stream. */
function play(message: AssistantMessage): AssistantMessageEventStream {
  const out = createAssistantMessageEventStream();
  out.push({ type: "start", partial: message });
  for (const [contentIndex, block] of message.content.entries()) {
    const at = { contentIndex, partial: message };
    switch (block.type) {
      case "text":
        out.push({ type: "text_start", ...at });
        out.push({ type: "text_delta", delta: block.text, ...at });
        out.push({ type: "text_end", content: block.text, ...at });
        break;
      case "thinking":
        out.push({ type: "thinking_start", ...at });
        out.push({ type: "thinking_delta", delta: block.thinking, ...at });
        out.push({ type: "thinking_end", content: block.thinking, ...at });
        break;
      case "toolCall":
        out.push({ type: "toolcall_start", ...at });
        out.push({ type: "toolcall_delta", delta: JSON.stringify(block.arguments), ...at });
        out.push({ type: "toolcall_end", toolCall: block, ...at });
        break;
    }
  }
  out.push({ type: "done", reason: endOf(message) ?? "stop", message });
  return out;
}

/** How a whole message ended; undefined for one that broke off. */
function endOf({ stopReason }: AssistantMessage) {
  const isCut = stopReason === "pending" || stopReason === "error" || stopReason === "aborted";
  return isCut ? undefined : stopReason;
}
