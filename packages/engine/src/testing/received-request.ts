// One request as a scripted provider received it, and one reading of it for all three wires.
//
// Messages stand as the wire had them, role by role and in order: nothing is merged or repaired, since that is what a
// test asks about. Reading is lazy; the body is kept as it came.

import type { Json, JsonObject } from "@lichen/wire";
import type { Wire } from "./encoding.ts";

export interface ReceivedMessage {
  readonly role: string;
  /** Its texts, joined. */
  readonly text: string;
  readonly thinking: string;
  readonly images: readonly ReceivedImage[];
  readonly calls: readonly ReceivedCall[];
  readonly results: readonly ReceivedResult[];
  /** Whether a text block was there and empty, which providers refuse. */
  readonly hasEmptyText: boolean;
}

/** `data` is base64. */
export interface ReceivedImage {
  readonly mimeType: string;
  readonly data: string;
}

export interface ReceivedCall {
  readonly id: string;
  readonly name: string;
  /** The arguments; their text where it is not JSON. */
  readonly input: Json;
}

export interface ReceivedResult {
  readonly id: string;
  readonly text: string;
  /** Only one wire can say so. */
  readonly isError: boolean;
  readonly images: readonly ReceivedImage[];
}

/** How the exchange ended: answered to the last byte, left by its caller, or cut by the script or a close. */
export type Ending = "answered" | "left" | "cut";

export class ReceivedRequest {
  /** Counts from 1. */
  readonly number: number;
  readonly wire: Wire;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly ended: Promise<Ending>;
  #messages: readonly ReceivedMessage[] | undefined;

  constructor(received: {
    number: number;
    wire: Wire;
    headers: Readonly<Record<string, string>>;
    body: JsonObject;
    ended: Promise<Ending>;
  }) {
    this.number = received.number;
    this.wire = received.wire;
    this.headers = received.headers;
    this.body = received.body;
    this.ended = received.ended;
  }

  get model(): string {
    return textAt(this.body, "model");
  }

  /** The instructions, wherever this wire carries them. */
  get system(): string {
    const own = this.wire === "anthropic" ? this.body["system"] : this.body["instructions"];
    const among = this.messages.filter(({ role }) => role === "system" || role === "developer");
    return [plainText(own), ...among.map(({ text }) => text)].filter(Boolean).join("\n");
  }

  get messages(): readonly ReceivedMessage[] {
    return (this.#messages ??= readMessages(this.wire, this.body));
  }

  /** Names of the declared tools, in order. */
  get tools(): readonly string[] {
    return list(this.body["tools"]).map((tool) => {
      const declared = object(tool);
      return textAt(object(declared["function"]), "name") || textAt(declared, "name");
    });
  }

  /** The text of the newest user message that has one. */
  get prompt(): string {
    return this.messages.findLast(({ role, text }) => role === "user" && text !== "")?.text ?? "";
  }

  /** Every tool result, oldest first. */
  get results(): readonly ReceivedResult[] {
    return this.messages.flatMap(({ results }) => results);
  }
}

function readMessages(wire: Wire, body: JsonObject): readonly ReceivedMessage[] {
  if (wire !== "responses") return list(body["messages"]).map((item) => readMessage(object(item)));
  const input = body["input"];
  if (typeof input === "string") return [readMessage({ role: "user", content: input })];
  return list(input).map((item) => readItem(object(item)));
}

/** A message of Anthropic Messages or Chat Completions, or a message item of Responses. */
function readMessage(message: JsonObject): ReceivedMessage {
  const content = message["content"];
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : list(content).map(object);
  const calls = list(message["tool_calls"]).map((item) => {
    const call = object(item);
    const called = object(call["function"]);
    return {
      id: textAt(call, "id"),
      name: textAt(called, "name"),
      input: parsed(textAt(called, "arguments")),
    };
  });
  const role = textAt(message, "role");
  if (role === "tool") {
    const result = { id: textAt(message, "tool_call_id"), isError: false, ...readResult(content) };
    return { ...nothing, role, results: [result] };
  }
  const texts = blocks.filter(({ type }) => type !== undefined && textTypes.has(textOf(type)));
  return {
    role,
    text: texts.map((block) => textAt(block, "text")).join(""),
    thinking:
      textAt(message, "reasoning_content") +
      blocks.map((block) => textAt(block, "thinking")).join(""),
    images: blocks.flatMap(readImage),
    calls: [...calls, ...blocks.filter(({ type }) => type === "tool_use").map(readUse)],
    results: blocks
      .filter(({ type }) => type === "tool_result")
      .map((block) => ({
        id: textAt(block, "tool_use_id"),
        isError: block["is_error"] === true,
        ...readResult(block["content"]),
      })),
    hasEmptyText: typeof content !== "string" && texts.some((it) => textAt(it, "text") === ""),
  };
}

/** An item of Responses: a message, a call, a call's output, or thoughts. */
function readItem(item: JsonObject): ReceivedMessage {
  switch (textAt(item, "type")) {
    case "function_call": {
      const input = parsed(textAt(item, "arguments"));
      const call = { id: textAt(item, "call_id"), name: textAt(item, "name"), input };
      return { ...nothing, role: "assistant", calls: [call] };
    }
    case "function_call_output": {
      const result = { id: textAt(item, "call_id"), isError: false, ...readResult(item["output"]) };
      return { ...nothing, role: "tool", results: [result] };
    }
    case "reasoning":
      return { ...nothing, role: "assistant", thinking: plainText(item["summary"]) };
    default:
      return readMessage(item);
  }
}

const textTypes = new Set(["text", "input_text", "output_text"]);

const nothing = {
  text: "",
  thinking: "",
  images: [],
  calls: [],
  results: [],
  hasEmptyText: false,
} as const;

function readUse(block: JsonObject): ReceivedCall {
  return { id: textAt(block, "id"), name: textAt(block, "name"), input: block["input"] ?? {} };
}

function readResult(content: Json | undefined): {
  text: string;
  images: readonly ReceivedImage[];
} {
  return { text: plainText(content), images: list(content).flatMap((it) => readImage(object(it))) };
}

function readImage(block: JsonObject): ReceivedImage[] {
  if (block["type"] === "image") {
    const source = object(block["source"]);
    return [{ mimeType: textAt(source, "media_type"), data: textAt(source, "data") }];
  }
  const address = block["image_url"];
  const url = typeof address === "string" ? address : textAt(object(address), "url");
  const match = /^data:([^;]+);base64,(.*)$/s.exec(url);
  return match ? [{ mimeType: match[1]!, data: match[2]! }] : [];
}

function plainText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return list(value)
    .map((block) => textAt(object(block), "text"))
    .join("");
}

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function object(value: Json | undefined): JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function textAt(value: JsonObject, key: string): string {
  return textOf(value[key]);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
