// Lines in the stream-json that clients of the machine API know, for harnesses that speak another language.

import type { Json, JsonObject } from "@lichen/wire";
import { synthetic } from "../events/lines.ts";

export function assistantLine(
  content: readonly JsonObject[],
  more: { readonly model?: string; readonly usage?: JsonObject } = {},
): JsonObject {
  const message = { role: "assistant", ...more, content: [...content] };
  return { type: "assistant", parent_tool_use_id: null, message };
}

/** What a person has to see although no model said it. */
export function notice(text: string): JsonObject {
  return assistantLine([{ type: "text", text }], { model: synthetic });
}

export function toolResultLine(id: string, content: Json, isError: boolean): JsonObject {
  const result = { type: "tool_result", tool_use_id: id, content, is_error: isError };
  return { type: "user", message: { role: "user", content: [result] } };
}

export function resultLine(isGood: boolean, more: JsonObject = {}): JsonObject {
  const subtype = isGood ? "success" : "error_during_execution";
  return { type: "result", subtype, is_error: !isGood, ...more };
}

/** A tool that waits for a permission. */
export function permissionLine(
  id: string,
  asked: { readonly tool: string; readonly input: JsonObject; readonly description: string },
): JsonObject {
  const { tool, input, description } = asked;
  const request = { subtype: "can_use_tool", tool_name: tool, input, description };
  return { type: "control_request", request_id: id, request };
}

/** Questions to a person, which clients know as a tool. */
export function questionLine(id: string, questions: readonly Json[]): JsonObject {
  return permissionLine(id, {
    tool: "AskUserQuestion",
    input: { questions: [...questions] },
    description: "",
  });
}

export function initLine(
  session: string,
  model: string,
  harness: string,
  window?: number,
): JsonObject {
  return {
    ...{ type: "system", subtype: "init", session_id: session, harness },
    ...(model === "" ? {} : { model }),
    ...(window === undefined ? {} : { context_window: window }),
  };
}

/** What has no like in stream-json is kept as it is, where clients pass over it. */
export function otherLine(harness: string, line: Json): JsonObject {
  return { type: "system", subtype: harness, line };
}

export function imageBlock(mimeType: string, data: string): JsonObject {
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
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

export function objectsIn(value: Json | undefined): JsonObject[] {
  const list = Array.isArray(value) ? value : [];
  return list.flatMap((it) =>
    typeof it === "object" && it !== null && !Array.isArray(it) ? [it] : [],
  );
}
