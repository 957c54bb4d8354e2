// Messages of the Agent Client Protocol in the stream-json that clients know.

import type { Json, JsonObject } from "@lichen/wire";
import { objectIn } from "../events/lines.ts";
import type { AnsweredPrompt } from "./harness.ts";
import {
  assistantLine,
  imageBlock,
  initLine,
  notice,
  objectsIn,
  otherLine,
  permissionLine,
  questionLine,
  resultLine,
  textAt,
  toolResultLine,
} from "./stream-json.ts";

const harness = "acp";

export function acpToClaude(line: Json): Json {
  const fields = objectIn(line);
  if (typeof fields["notice"] === "string") return notice(fields["notice"]);
  const params = objectIn(fields["params"]);
  switch (textAt(fields, "method")) {
    case "session/update":
      return ofUpdate(objectIn(params["update"])) ?? otherLine(harness, line);
    case "session/prompt":
      return ofPrompt(params) ?? otherLine(harness, line);
    case "session/request_permission":
      return isShown(fields) ? ofPermission(nameOf(fields), params) : otherLine(harness, line);
    case "elicitation/create":
      return isShown(fields) ? ofForm(nameOf(fields), params) : otherLine(harness, line);
    case "":
      return ofAnswer(fields) ?? otherLine(harness, line);
    default:
      return otherLine(harness, line);
  }
}

/** What auto-approve gives: a permission, for this one time. */
export function acpAnswered(line: Json): AnsweredPrompt | undefined {
  const fields = objectIn(line);
  const meta = objectIn(fields["_meta"]);
  const by = textAt(meta, "by");
  return by === "" ? undefined : { by, prompt: textAt(meta, "prompt"), allow: true };
}

function ofUpdate(update: JsonObject): JsonObject | undefined {
  const block = objectIn(update["content"]);
  switch (textAt(update, "sessionUpdate")) {
    case "agent_message_chunk":
      return assistantLine(blocksOf(block));
    case "agent_thought_chunk":
      return assistantLine([{ type: "thinking", thinking: textAt(block, "text") }]);
    case "tool_call":
      return assistantLine([
        {
          type: "tool_use",
          id: textAt(update, "toolCallId"),
          name: toolOf(update),
          input: inputOf(update),
        },
      ]);
    case "tool_call_update": {
      const status = textAt(update, "status");
      if (status !== "completed" && status !== "failed") return undefined;
      return toolResultLine(textAt(update, "toolCallId"), outputOf(update), status === "failed");
    }
    default:
      return undefined;
  }
}

function blocksOf(block: JsonObject): JsonObject[] {
  switch (textAt(block, "type")) {
    case "text":
      return [{ type: "text", text: textAt(block, "text") }];
    case "image":
      return [imageBlock(textAt(block, "mimeType"), textAt(block, "data"))];
    default:
      return [{ type: "text", text: textAt(block, "uri") || textAt(block, "name") }];
  }
}

function toolOf(call: JsonObject): string {
  return textAt(call, "name") || textAt(call, "title") || textAt(call, "kind") || "tool";
}

function inputOf(call: JsonObject): JsonObject {
  const input = call["rawInput"];
  if (input === undefined || input === null) return { description: textAt(call, "title") };
  return typeof input === "object" && !Array.isArray(input) ? input : { input };
}

function outputOf(call: JsonObject): JsonObject[] {
  const shown = objectsIn(call["content"]).flatMap((it) => {
    const type = textAt(it, "type");
    if (type === "content") return blocksOf(objectIn(it["content"]));
    return type === "diff" ? [{ type: "text", text: `Changed ${textAt(it, "path")}.` }] : [];
  });
  const raw = call["rawOutput"];
  if (shown.length > 0 || raw === undefined || raw === null) return shown;
  return [{ type: "text", text: typeof raw === "string" ? raw : JSON.stringify(raw) }];
}

/** The name under which a request is answered, unlike that of any other process's. */
function nameOf(fields: JsonObject): string {
  return textAt(objectIn(fields["_meta"]), "prompt");
}

/** What is sent tells the model that answers it. */
function ofPrompt(params: JsonObject): JsonObject | undefined {
  const model = textAt(params, "model");
  return model === "" ? undefined : initLine(textAt(params, "sessionId"), model, harness);
}

/** What nobody was asked has no name. */
function isShown(fields: JsonObject): boolean {
  return nameOf(fields) !== "";
}

function ofPermission(name: string, params: JsonObject): JsonObject {
  const call = objectIn(params["toolCall"]);
  const options = objectsIn(params["options"]);
  const title = textAt(call, "title");
  // Of several ways to allow none is the obvious one.
  if (options.filter((it) => it["kind"] === "allow_once").length > 1)
    return questionLine(name, [
      {
        question: title || "Which one?",
        header: harness,
        multiSelect: false,
        options: options.map((it) => ({ label: textAt(it, "name"), description: "" })),
      },
    ]);
  return permissionLine(name, { tool: toolOf(call), input: inputOf(call), description: title });
}

function ofForm(name: string, params: JsonObject): JsonObject {
  const properties = Object.entries(objectIn(objectIn(params["requestedSchema"])["properties"]));
  const message = textAt(params, "message");
  const questions = properties.map(([key, value]) => {
    const property = objectIn(value);
    const question = textAt(property, "title") || key;
    const more = textAt(property, "description");
    const labels = Array.isArray(property["enum"])
      ? property["enum"].filter((it) => typeof it === "string")
      : objectsIn(property["oneOf"]).map((it) => textAt(it, "title"));
    return {
      question: more === "" ? question : `${question}: ${more}`,
      header: harness,
      multiSelect: property["type"] === "array",
      ...(labels.length === 0
        ? {}
        : { options: labels.map((label) => ({ label, description: "" })) }),
    };
  });
  if (questions.length > 0) return questionLine(name, questions);
  return questionLine(name, [
    {
      question: message,
      header: harness,
      multiSelect: false,
      options: [{ label: "OK", description: "" }],
    },
  ]);
}

/** An answer of the agent's to what it was asked: the conversation that begins, or the end of a turn. */
function ofAnswer(fields: JsonObject): JsonObject | undefined {
  const result = objectIn(fields["result"]);
  const reason = textAt(result, "stopReason");
  if (reason !== "") return resultLine(reason === "end_turn", { stop_reason: reason });
  const session = textAt(result, "sessionId");
  if (session !== "")
    return initLine(session, textAt(objectIn(result["models"]), "currentModelId"), harness);
  const failure = textAt(objectIn(fields["error"]), "message");
  return failure === "" ? undefined : notice(failure);
}
