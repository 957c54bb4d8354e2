// What pi writes in RPC mode, read into what a driver acts on.
//
// Reading is tolerant: fields of other versions are ignored, missing ones have a meaning of their own, and a line of a
// kind that is not known here is `other`.

import type { Json, JsonObject } from "@lichen/wire";

/** Why pi's conversation became shorter, and what it came to. */
interface Compacted {
  readonly type: "compacted";
  readonly automatic: boolean;
  /** `summary` and more where it worked. */
  readonly result?: JsonObject;
  readonly aborted: boolean;
  readonly error?: string;
}

/** A dialog of an extension, which waits for an answer. */
export interface Dialog {
  readonly id: string;
  readonly method: "select" | "confirm" | "input" | "editor";
  readonly title: string;
  readonly message?: string;
  readonly options: readonly string[];
  readonly placeholder?: string;
  readonly prefill?: string;
  /** After so many milliseconds pi answers by itself. */
  readonly timeoutMs?: number;
}

export interface PiResponse {
  readonly type: "response";
  readonly id?: string;
  readonly command: string;
  readonly success: boolean;
  readonly data: JsonObject;
  /** pi's words where it failed. */
  readonly error: string;
}

export type PiEvent =
  | PiResponse
  /** A part of the assistant message that is being written. */
  | { readonly type: "update"; readonly update: JsonObject }
  | { readonly type: "message"; readonly role: string; readonly message: JsonObject }
  | { readonly type: "output"; readonly callId: string; readonly text: string }
  | { readonly type: "begun" }
  /** A run of the model is over; `willRetry` is missing in versions that do not say so. */
  | { readonly type: "paused"; readonly willRetry?: boolean }
  | { readonly type: "settled"; readonly aborted: boolean }
  | {
      readonly type: "retrying";
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly reason: string;
    }
  | { readonly type: "retried"; readonly success: boolean; readonly error: string }
  | { readonly type: "compacting" }
  | Compacted
  | { readonly type: "dialog"; readonly dialog: Dialog }
  /** An extension threw; `event` is `command` where that was a command of its own. */
  | { readonly type: "fault"; readonly event: string; readonly error: string }
  | { readonly type: "level"; readonly level: string }
  | { readonly type: "other" };

const other = { type: "other" } as const;

export function eventOf(line: Json): PiEvent {
  if (!isObject(line)) return other;
  switch (textAt(line, "type")) {
    case "response":
      return response(line);
    case "message_update":
      return { type: "update", update: objectAt(line, "assistantMessageEvent") };
    case "message_end":
      return message(line);
    case "tool_execution_update":
      return {
        type: "output",
        callId: textAt(line, "toolCallId"),
        text: textOf(objectAt(line, "partialResult")["content"]),
      };
    case "agent_start":
      return { type: "begun" };
    case "agent_end": {
      const { willRetry } = line;
      return { type: "paused", ...(typeof willRetry === "boolean" ? { willRetry } : {}) };
    }
    case "agent_settled":
      return { type: "settled", aborted: line["aborted"] === true };
    case "auto_retry_start":
      return {
        type: "retrying",
        attempt: numberAt(line, "attempt"),
        maxAttempts: numberAt(line, "maxAttempts"),
        delayMs: numberAt(line, "delayMs"),
        reason: textAt(line, "errorMessage"),
      };
    case "auto_retry_end":
      return {
        type: "retried",
        success: line["success"] === true,
        error: textAt(line, "finalError"),
      };
    case "compaction_start":
    case "auto_compaction_start":
      return { type: "compacting" };
    case "compaction_end":
    case "auto_compaction_end":
      return compacted(line);
    case "extension_ui_request":
      return dialog(line);
    case "extension_error":
      return { type: "fault", event: textAt(line, "event"), error: textAt(line, "error") };
    case "thinking_level_changed":
      return { type: "level", level: textAt(line, "level") };
    default:
      return other;
  }
}

function response(line: JsonObject): PiResponse {
  const { id } = line;
  return {
    type: "response",
    ...(typeof id === "string" ? { id } : {}),
    command: textAt(line, "command"),
    success: line["success"] === true,
    data: objectAt(line, "data"),
    error: textAt(line, "error") || "pi gave no reason",
  };
}

function message(line: JsonObject): PiEvent {
  const said = objectAt(line, "message");
  return { type: "message", role: textAt(said, "role"), message: said };
}

function compacted(line: JsonObject): Compacted {
  const { result, errorMessage } = line;
  return {
    type: "compacted",
    automatic: line["reason"] !== "manual",
    aborted: line["aborted"] === true,
    ...(isObject(result) ? { result } : {}),
    ...(typeof errorMessage === "string" ? { error: errorMessage } : {}),
  };
}

function dialog(line: JsonObject): PiEvent {
  const { id, method, message: said, placeholder, prefill, timeout, options } = line;
  if (typeof id !== "string") return other;
  if (method !== "select" && method !== "confirm" && method !== "input" && method !== "editor")
    return other;
  const offered = Array.isArray(options) ? options : [];
  return {
    type: "dialog",
    dialog: {
      id,
      method,
      title: textAt(line, "title"),
      options: offered.filter((option) => typeof option === "string"),
      ...(typeof said === "string" && said !== "" ? { message: said } : {}),
      ...(typeof placeholder === "string" && placeholder !== "" ? { placeholder } : {}),
      ...(typeof prefill === "string" && prefill !== "" ? { prefill } : {}),
      ...(typeof timeout === "number" && timeout > 0 ? { timeoutMs: timeout } : {}),
    },
  };
}

/** The text of a message's content: a string, or blocks. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => (isObject(block) && block["type"] === "text" ? textAt(block, "text") : ""))
    .join("");
}

export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

export function objectAt(from: JsonObject, name: string): JsonObject {
  const value = from[name];
  return isObject(value) ? value : {};
}

/** The text of that name, or none. */
export function textAt(from: JsonObject, name: string): string {
  const value = from[name];
  return typeof value === "string" ? value : "";
}

export function numberAt(from: JsonObject, name: string): number {
  const value = from[name];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
