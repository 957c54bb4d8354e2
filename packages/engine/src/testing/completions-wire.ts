// The streaming wire of OpenAI Chat Completions: chunks of one choice, usage in a chunk of its own, then `[DONE]`.

import { type Encoder, type Encoding, sse } from "./encoding.ts";
import { argumentDeltas, type RefusalKind, type ScriptedUsage } from "./script.ts";

interface ErrorShape {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

const errors: Record<RefusalKind, ErrorShape> = {
  unauthenticated: {
    status: 401,
    type: "invalid_request_error",
    code: "invalid_api_key",
    message: "Incorrect API key provided.",
  },
  rate_limited: {
    status: 429,
    type: "requests",
    code: "rate_limit_exceeded",
    message: "Rate limit reached for requests.",
  },
  server_error: {
    status: 500,
    type: "server_error",
    code: null,
    message: "The server had an error while processing the request.",
  },
  overloaded: {
    status: 503,
    type: "server_error",
    code: "overloaded",
    message: "The engine is currently overloaded, please try again later.",
  },
  context_length: {
    status: 400,
    type: "invalid_request_error",
    code: "context_length_exceeded",
    message:
      "This model's maximum context length is 128000 tokens. The messages resulted in 213462.",
  },
  invalid: {
    status: 400,
    type: "invalid_request_error",
    code: null,
    message: "The request is not valid.",
  },
};

/** The error of both OpenAI wires. */
export function openaiError(
  kind: RefusalKind,
  message: string | undefined,
): { status: number; error: { message: string; type: string; param: null; code: string | null } } {
  const { status, type, code, message: usual } = errors[kind];
  return { status, error: { message: message ?? usual, type, param: null, code } };
}

const finishReason = { stop: "stop", length: "length", calls: "tool_calls" } as const;

export const completionsWire: Encoding = {
  encoder: ({ answer, model, usage, includeUsage }) =>
    new CompletionsEncoder(answer, model, includeUsage ? usage : undefined),
  refusal(kind, message) {
    const { status, error } = openaiError(kind, message);
    return { status, body: JSON.stringify({ error }) };
  },
};

class CompletionsEncoder implements Encoder {
  readonly #frame: object;
  readonly #usage: ScriptedUsage | undefined;
  #calls = 0;

  constructor(answer: number, model: string, usage: ScriptedUsage | undefined) {
    const id = `chatcmpl-scripted-${answer}`;
    this.#frame = { id, object: "chat.completion.chunk", created: 0, model };
    this.#usage = usage;
  }

  start(): string {
    return this.#chunk({ role: "assistant", content: "" });
  }

  text(delta: string): string {
    return this.#chunk({ content: delta });
  }

  thinking(delta: string): string {
    return this.#chunk({ reasoning_content: delta });
  }

  call(call: Parameters<Encoder["call"]>[0]): string {
    const index = this.#calls++;
    const { id, name } = call;
    const begun = this.#chunk({
      tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
    });
    const grown = argumentDeltas(call).map((text) =>
      this.#chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
    );
    return begun + grown.join("");
  }

  breaks(kind: RefusalKind, message: string | undefined): string {
    return sse({ error: openaiError(kind, message).error });
  }

  end(stop: "stop" | "length" | "calls"): string {
    const finished = this.#chunk({}, finishReason[stop]);
    const counted = this.#usage
      ? sse({ ...this.#frame, choices: [], usage: tokens(this.#usage) })
      : "";
    return `${finished}${counted}data: [DONE]\n\n`;
  }

  #chunk(delta: object, finish: string | null = null): string {
    return sse({ ...this.#frame, choices: [{ index: 0, delta, finish_reason: finish }] });
  }
}

/** This wire counts cached tokens among the prompt's. */
function tokens(usage: ScriptedUsage): object {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    },
  };
}
