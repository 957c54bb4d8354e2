// The lines that Claude Code writes, read once: what each means to a run. A line that says nothing to it is `other`, and
// is kept all the same.
//
//   Seen with Claude Code 2.1.197: `system/init` opens every turn; a message of ours comes back with `isReplay` when it is
//   taken into a turn, or at once where its uuid is known already; usage of assistant lines is repeated per block.

import type { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";

export type ClaudeLine =
  /** Text that streams. Not durable. */
  | { readonly is: "delta"; readonly what: "text" | "thinking"; readonly text: string }
  | { readonly is: "block" }
  /** A heartbeat: not durable, and no sign of work. */
  | { readonly is: "noise" }
  /** An answer to a request of ours. Not durable. */
  | {
      readonly is: "reply";
      readonly id: string;
      readonly response?: JsonObject;
      readonly error?: string;
    }
  | DurableLine;

export type DurableLine = { readonly raw: Json } & (
  | { readonly is: "init"; readonly conversation: string; readonly model?: string }
  | { readonly is: "assistant"; readonly model?: string; readonly blocks: readonly Block[] }
  | { readonly is: "results"; readonly results: readonly ToolResult[] }
  | { readonly is: "replayed"; readonly uuid: string }
  /** A sub-agent's: no part of the conversation. */
  | { readonly is: "aside" }
  | { readonly is: "user"; readonly text: string }
  | { readonly is: "asks"; readonly request: PermissionRequest }
  | { readonly is: "requests"; readonly id: string; readonly subtype: string }
  | { readonly is: "cancels"; readonly id: string }
  | { readonly is: "woken" }
  | { readonly is: "compacted"; readonly automatic: boolean; readonly tokensBefore: number }
  | { readonly is: "result"; readonly result: TurnResult }
  | { readonly is: "other" }
);

export type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string; readonly signature?: string }
  | { readonly type: "redacted" }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
    };

export interface ToolResult {
  readonly id: string;
  readonly isError: boolean;
  readonly content: readonly (
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "image"; readonly mimeType: string; readonly data: string }
  )[];
}

export interface PermissionRequest {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly callId?: string;
  readonly description?: string;
  readonly suggestions: readonly JsonObject[];
}

export interface TurnResult {
  readonly subtype: string;
  readonly isError: boolean;
  readonly text?: string;
  readonly errors: readonly string[];
  readonly turns: number;
  /** A turn that it began by itself, after background work. */
  readonly isOwn: boolean;
  /** Running total of the process, in US dollars. */
  readonly totalCost?: number;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
}

const object = z.record(z.string(), z.json());
const count = z.number().catch(0);

const Line = z.looseObject({
  type: z.string(),
  subtype: z.string().optional(),
  uuid: z.string().optional(),
  parent_tool_use_id: z.string().nullish(),
  isReplay: z.boolean().optional(),
});

const Init = z.looseObject({ session_id: z.string(), model: z.string().optional() });

const Message = z.looseObject({
  message: z.looseObject({
    model: z.string().optional(),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  }),
});

const Use = z.looseObject({ id: z.string(), name: z.string(), input: object.catch({}) });
const Said = z.looseObject({ text: z.string() });
const Thought = z.looseObject({ thinking: z.string(), signature: z.string().optional() });
const Picture = z.looseObject({
  source: z.looseObject({ media_type: z.string(), data: z.string() }),
});
const Came = z.looseObject({
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).catch(""),
  is_error: z.boolean().optional(),
});

const Request = z.looseObject({
  request_id: z.string(),
  request: z.looseObject({ subtype: z.string() }),
});
const Permission = z.looseObject({
  tool_name: z.string(),
  input: object.catch({}),
  description: z.string().optional().catch(undefined),
  tool_use_id: z.string().optional().catch(undefined),
  permission_suggestions: z.array(object).catch([]),
});
const Reply = z.looseObject({
  response: z.looseObject({
    request_id: z.string(),
    subtype: z.string(),
    response: object.optional().catch(undefined),
    error: z.string().optional(),
  }),
});
const Cancel = z.looseObject({ request_id: z.string() });
const Compacted = z.looseObject({
  compact_metadata: z.looseObject({ trigger: z.string(), pre_tokens: count }),
});
const Result = z.looseObject({
  subtype: z.string(),
  is_error: z.boolean().catch(false),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).catch([]),
  num_turns: count,
  origin: z.looseObject({ kind: z.string() }).optional().catch(undefined),
  total_cost_usd: z.number().optional().catch(undefined),
  usage: z
    .looseObject({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
    })
    .catch({
      input_tokens: 0,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    }),
});

const heartbeats = new Set(["thinking_tokens"]);

/** Reads one line. What does not have the shape of its type is `other`. */
export function readLine(value: Json): ClaudeLine {
  const line = Line.safeParse(value);
  if (!line.success) return { is: "other", raw: value };
  const { type, subtype } = line.data;
  if (type === "stream_event") return streamed(value);
  if (type === "tool_progress" || type === "keep_alive") return { is: "noise" };
  if (type === "system" && subtype !== undefined && heartbeats.has(subtype)) return { is: "noise" };
  return durable(line.data, value) ?? { is: "other", raw: value };
}

function durable(line: z.infer<typeof Line>, raw: Json): ClaudeLine | undefined {
  switch (line.type) {
    case "system":
      return ofSystem(line, raw);
    case "assistant":
    case "user":
      return ofMessage(line, raw);
    case "control_request":
      return ofRequest(raw);
    case "control_cancel_request": {
      const { data } = Cancel.safeParse(raw);
      return data && { is: "cancels", id: data.request_id, raw };
    }
    case "control_response": {
      const { data } = Reply.safeParse(raw);
      if (!data) return { is: "noise" };
      const { request_id: id, subtype, response, error } = data.response;
      if (subtype !== "success") return { is: "reply", id, error: error ?? "it was refused" };
      return { is: "reply", id, ...(response ? { response } : {}) };
    }
    case "result":
      return ofResult(raw);
    default:
      return undefined;
  }
}

function ofSystem({ subtype }: z.infer<typeof Line>, raw: Json): DurableLine | undefined {
  if (subtype === "init") {
    const { data } = Init.safeParse(raw);
    if (!data) return undefined;
    const { session_id: conversation, model } = data;
    return { is: "init", conversation, raw, ...(model === undefined ? {} : { model }) };
  }
  if (subtype === "task_notification") return { is: "woken", raw };
  if (subtype === "compact_boundary") {
    const { data } = Compacted.safeParse(raw);
    if (!data) return undefined;
    const { trigger, pre_tokens: tokensBefore } = data.compact_metadata;
    return { is: "compacted", automatic: trigger !== "manual", tokensBefore, raw };
  }
  return undefined;
}

function ofMessage(line: z.infer<typeof Line>, raw: Json): DurableLine | undefined {
  if (line.isReplay) return { is: "replayed", uuid: line.uuid ?? "", raw };
  if (typeof line.parent_tool_use_id === "string") return { is: "aside", raw };
  const { data } = Message.safeParse(raw);
  if (!data) return undefined;
  const { content, model } = data.message;
  if (line.type === "assistant") {
    const blocks = typeof content === "string" ? [said(content)] : content.flatMap(blockOf);
    const named = model === undefined || model === "<synthetic>" ? {} : { model };
    return { is: "assistant", blocks, raw, ...named };
  }
  if (typeof content === "string") return { is: "user", text: content, raw };
  const results = content.flatMap((block) => (block.type === "tool_result" ? resultOf(block) : []));
  if (results.length > 0) return { is: "results", results, raw };
  return { is: "user", text: content.map((block) => textOf(block)).join("\n"), raw };
}

function said(text: string): Block {
  return { type: "text", text };
}

function textOf(block: unknown): string {
  return Said.safeParse(block).data?.text ?? "";
}

function blockOf(block: { type: string }): Block[] {
  switch (block.type) {
    case "text":
      return [said(textOf(block))];
    case "thinking": {
      const { data } = Thought.safeParse(block);
      if (!data) return [];
      const signed = data.signature === undefined ? {} : { signature: data.signature };
      return [{ type: "thinking", text: data.thinking, ...signed }];
    }
    case "redacted_thinking":
      return [{ type: "redacted" }];
    case "tool_use": {
      const { data } = Use.safeParse(block);
      return data ? [{ type: "call", id: data.id, name: data.name, input: data.input }] : [];
    }
    default:
      return [];
  }
}

function resultOf(block: unknown): ToolResult[] {
  const { data } = Came.safeParse(block);
  if (!data) return [];
  const content =
    typeof data.content === "string"
      ? [{ type: "text" as const, text: data.content }]
      : data.content.map(shownBlock);
  return [{ id: data.tool_use_id, isError: data.is_error ?? false, content }];
}

function shownBlock(block: { type: string }): ToolResult["content"][number] {
  const picture = block.type === "image" ? Picture.safeParse(block).data?.source : undefined;
  if (picture) return { type: "image", mimeType: picture.media_type, data: picture.data };
  if (block.type === "text") return { type: "text", text: textOf(block) };
  return { type: "text", text: JSON.stringify(block) };
}

function ofRequest(raw: Json): DurableLine | undefined {
  const { data } = Request.safeParse(raw);
  if (!data) return undefined;
  const { request_id: id, request } = data;
  const asked = request.subtype === "can_use_tool" ? Permission.safeParse(request).data : undefined;
  if (!asked) return { is: "requests", id, subtype: request.subtype, raw };
  return {
    is: "asks",
    raw,
    request: {
      id,
      tool: asked.tool_name,
      input: asked.input,
      suggestions: asked.permission_suggestions,
      ...(asked.tool_use_id === undefined ? {} : { callId: asked.tool_use_id }),
      ...(asked.description === undefined ? {} : { description: asked.description }),
    },
  };
}

function ofResult(raw: Json): DurableLine | undefined {
  const { data } = Result.safeParse(raw);
  if (!data) return undefined;
  const { usage } = data;
  return {
    is: "result",
    raw,
    result: {
      subtype: data.subtype,
      isError: data.is_error,
      errors: data.errors,
      turns: data.num_turns,
      isOwn: data.origin?.kind === "task-notification",
      usage: {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cacheRead: usage.cache_read_input_tokens,
        cacheWrite: usage.cache_creation_input_tokens,
      },
      ...(data.result === undefined ? {} : { text: data.result }),
      ...(data.total_cost_usd === undefined ? {} : { totalCost: data.total_cost_usd }),
    },
  };
}

const Streamed = z.looseObject({
  parent_tool_use_id: z.string().nullish(),
  event: z.looseObject({
    type: z.string(),
    delta: z
      .looseObject({ text: z.string().optional(), thinking: z.string().optional() })
      .optional(),
  }),
});

function streamed(value: Json): ClaudeLine {
  const { data } = Streamed.safeParse(value);
  if (!data || typeof data.parent_tool_use_id === "string") return { is: "noise" };
  const { type, delta } = data.event;
  if (type === "content_block_start") return { is: "block" };
  if (type !== "content_block_delta") return { is: "noise" };
  if (delta?.text !== undefined) return { is: "delta", what: "text", text: delta.text };
  if (delta?.thinking !== undefined) return { is: "delta", what: "thinking", text: delta.thinking };
  return { is: "noise" };
}
