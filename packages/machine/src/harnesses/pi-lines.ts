// Lines of pi in the stream-json that clients know.
//
//   MA36  What a harness of another language says reads like Claude Code's: messages, tools, results, ends, questions.

import type { Json, JsonObject } from "@lichen/wire";
import { objectIn } from "../events/lines.ts";
import type { OutsideMessage } from "./harness.ts";
import {
  assistantLine,
  imageBlock,
  initLine,
  notice,
  numberAt,
  objectsIn,
  otherLine,
  questionLine,
  resultLine,
  textAt,
  toolResultLine,
} from "./stream-json.ts";

const harness = "pi";

export function piToClaude(line: Json): Json {
  const fields = objectIn(line);
  switch (textAt(fields, "type")) {
    case "response":
      return ofResponse(fields) ?? otherLine(harness, line);
    case "message_end":
      return ofMessage(objectIn(fields["message"])) ?? otherLine(harness, line);
    case "agent_settled":
      return fields["aborted"] === true ? resultLine(false) : otherLine(harness, line);
    case "auto_retry_end":
      return noticeOf(fields, "finalError") ?? otherLine(harness, line);
    case "compaction_end":
    case "auto_compaction_end":
      return (
        noticeOf(fields, "errorMessage") ??
        (fields["result"]
          ? { type: "system", subtype: "compact_boundary" }
          : otherLine(harness, line))
      );
    case "extension_ui_request":
      return ofDialog(fields) ?? otherLine(harness, line);
    case "extension_error":
      return noticeOf(fields, "error") ?? otherLine(harness, line);
    default:
      return otherLine(harness, line);
  }
}

/** What somebody else said inside pi: an extension, or a person at its own screen. */
export function piOutside(line: Json): OutsideMessage | undefined {
  const fields = objectIn(line);
  if (fields["type"] !== "message_end") return undefined;
  const message = objectIn(fields["message"]);
  const role = textAt(message, "role");
  if (role === "user") return { by: harness, text: textOf(message["content"]) };
  if (role !== "custom") return undefined;
  return { by: textAt(message, "customType") || harness, text: textOf(message["content"]) };
}

function ofResponse(fields: JsonObject): JsonObject | undefined {
  const data = objectIn(fields["data"]);
  const command = textAt(fields, "command");
  if (fields["success"] !== true)
    return command === "prompt"
      ? notice(textAt(fields, "error") || "pi refused the message.")
      : undefined;
  if (command === "get_state") {
    const model = objectIn(data["model"]);
    const window = numberAt(model, "contextWindow");
    const name = modelOf(textAt(model, "provider"), textAt(model, "id"));
    return initLine(textAt(data, "sessionId"), name, harness, window === 0 ? undefined : window);
  }
  // pi says what a turn cost when it is asked after it; how that ended stands beside.
  if (command === "get_session_stats") {
    const terminal = textAt(fields, "terminal") || "completed";
    return resultLine(terminal === "completed", {
      session_id: textAt(data, "sessionId"),
      total_cost_usd: numberAt(data, "cost"),
    });
  }
  return undefined;
}

function ofMessage(message: JsonObject): JsonObject | undefined {
  switch (textAt(message, "role")) {
    case "assistant": {
      const { content } = message;
      const blocks =
        typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content);
      const failure =
        textAt(message, "stopReason") === "error" ? textAt(message, "errorMessage") : "";
      const own = blocks.flatMap(blockOf);
      if (own.length === 0 && failure !== "") return notice(failure);
      const model = modelOf(textAt(message, "provider"), textAt(message, "model"));
      return assistantLine([...own, ...(failure === "" ? [] : [{ type: "text", text: failure }])], {
        ...(model === "" ? {} : { model }),
        usage: usageOf(objectIn(message["usage"])),
      });
    }
    case "toolResult":
      return toolResultLine(
        textAt(message, "toolCallId"),
        objectsIn(message["content"]).flatMap(blockOf),
        message["isError"] === true,
      );
    default:
      return undefined;
  }
}

function blockOf(block: JsonObject): JsonObject[] {
  switch (textAt(block, "type")) {
    case "text":
      return [{ type: "text", text: textAt(block, "text") }];
    case "thinking":
      return [{ type: "thinking", thinking: textAt(block, "thinking") }];
    case "toolCall":
      return [
        {
          type: "tool_use",
          id: textAt(block, "id"),
          name: textAt(block, "name"),
          input: objectIn(block["arguments"]),
        },
      ];
    case "image":
      return [imageBlock(textAt(block, "mimeType"), textAt(block, "data"))];
    default:
      return [];
  }
}

function usageOf(usage: JsonObject): JsonObject {
  return {
    input_tokens: numberAt(usage, "input"),
    cache_read_input_tokens: numberAt(usage, "cacheRead"),
    cache_creation_input_tokens: numberAt(usage, "cacheWrite"),
    output_tokens: numberAt(usage, "output"),
  };
}

/** A dialog of an extension. Its question is the key of its answer. */
function ofDialog(fields: JsonObject): JsonObject | undefined {
  const method = textAt(fields, "method");
  if (!["select", "confirm", "input", "editor"].includes(method)) return undefined;
  const given = Array.isArray(fields["options"]) ? fields["options"] : [];
  const labels =
    method === "confirm" ? ["Yes", "No"] : given.filter((it) => typeof it === "string");
  const placeholder = textAt(fields, "placeholder");
  const more = [
    textAt(fields, "message"),
    placeholder && `(${placeholder})`,
    textAt(fields, "prefill"),
  ];
  return questionLine(`ui-${textAt(fields, "id")}`, [
    {
      question: [textAt(fields, "title") || `pi asks (${method})`, ...more.filter(Boolean)].join(
        "\n",
      ),
      header: harness,
      multiSelect: false,
      ...(labels.length === 0
        ? {}
        : { options: labels.map((label) => ({ label, description: "" })) }),
    },
  ]);
}

function noticeOf(fields: JsonObject, name: string): JsonObject | undefined {
  const text = textAt(fields, name);
  return text === "" ? undefined : notice(text);
}

function modelOf(provider: string, id: string): string {
  return provider === "" || id === "" ? id : `${provider}/${id}`;
}

function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((block) => textAt(block, "text"))
    .join("");
}
