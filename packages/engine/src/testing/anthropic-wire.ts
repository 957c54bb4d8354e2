// The streaming wire of Anthropic Messages: content blocks by index, each started, grown and stopped.

import { type Encoder, type Encoding, type RefusalBody, sse } from "./encoding.ts";
import { argumentDeltas, type RefusalKind, type ScriptedUsage } from "./script.ts";

interface ErrorShape {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

const errors: Record<RefusalKind, ErrorShape> = {
  unauthenticated: { status: 401, type: "authentication_error", message: "invalid x-api-key" },
  rate_limited: {
    status: 429,
    type: "rate_limit_error",
    message: "This request would exceed the rate limit of the organization.",
  },
  server_error: { status: 500, type: "api_error", message: "Internal server error" },
  overloaded: { status: 529, type: "overloaded_error", message: "Overloaded" },
  context_length: {
    status: 400,
    type: "invalid_request_error",
    message: "prompt is too long: 213462 tokens > 200000 maximum",
  },
  invalid: { status: 400, type: "invalid_request_error", message: "The request is not valid." },
};

const stopReason = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

export const anthropicWire: Encoding = {
  encoder: ({ answer, model, usage }) => new AnthropicEncoder(answer, model, usage),
  refusal(kind, message): RefusalBody {
    return { status: errors[kind].status, body: JSON.stringify(errorOf(kind, message)) };
  },
};

function errorOf(kind: RefusalKind, message: string | undefined): object {
  const { type, message: usual } = errors[kind];
  return { type: "error", error: { type, message: message ?? usual } };
}

class AnthropicEncoder implements Encoder {
  readonly #answer: number;
  readonly #model: string;
  readonly #usage: ScriptedUsage;
  #index = -1;
  #open: "text" | "thinking" | "call" | undefined;
  #signature: string | undefined;

  constructor(answer: number, model: string, usage: ScriptedUsage) {
    this.#answer = answer;
    this.#model = model;
    this.#usage = usage;
  }

  start(): string {
    const message = {
      id: `msg_scripted_${this.#answer}`,
      type: "message",
      role: "assistant",
      model: this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...this.#tokens(), output_tokens: 1 },
    };
    return event("message_start", { message });
  }

  text(delta: string): string {
    return (
      this.#begin("text", { type: "text", text: "" }) +
      this.#delta({ type: "text_delta", text: delta })
    );
  }

  thinking(delta: string, signature: string | undefined): string {
    const begun = this.#begin("thinking", { type: "thinking", thinking: "", signature: "" });
    this.#signature = signature ?? this.#signature ?? `signature-${this.#answer}-${this.#index}`;
    return begun + this.#delta({ type: "thinking_delta", thinking: delta });
  }

  call(call: Parameters<Encoder["call"]>[0]): string {
    const { id, name } = call;
    const begun = this.#begin("call", { type: "tool_use", id, name, input: {} });
    const grown = argumentDeltas(call).map((partial_json) =>
      this.#delta({ type: "input_json_delta", partial_json }),
    );
    return begun + grown.join("");
  }

  breaks(kind: RefusalKind, message: string | undefined): string {
    return sse(errorOf(kind, message), "error");
  }

  end(stop: "stop" | "length" | "calls"): string {
    const delta = { stop_reason: stopReason[stop], stop_sequence: null };
    return (
      this.#close() +
      event("message_delta", { delta, usage: this.#tokens() }) +
      event("message_stop", {})
    );
  }

  #tokens(): object {
    return {
      input_tokens: this.#usage.input,
      output_tokens: this.#usage.output,
      cache_read_input_tokens: this.#usage.cacheRead,
      cache_creation_input_tokens: this.#usage.cacheWrite,
    };
  }

  #begin(kind: "text" | "thinking" | "call", content_block: object): string {
    if (this.#open === kind && kind !== "call") return "";
    const closed = this.#close();
    this.#open = kind;
    this.#index++;
    return closed + event("content_block_start", { index: this.#index, content_block });
  }

  #delta(delta: object): string {
    return event("content_block_delta", { index: this.#index, delta });
  }

  #close(): string {
    if (this.#open === undefined) return "";
    const signed =
      this.#open === "thinking"
        ? this.#delta({ type: "signature_delta", signature: this.#signature })
        : "";
    this.#open = undefined;
    this.#signature = undefined;
    return signed + event("content_block_stop", { index: this.#index });
  }
}

function event(type: string, data: object): string {
  return sse({ type, ...data }, type);
}
