// The streaming wire of OpenAI Responses: output items by index, each added, grown and done, then the whole response.

import { openaiError } from "./completions-wire.ts";
import { type Encoder, type Encoding, sse } from "./encoding.ts";
import { argumentDeltas, type RefusalKind, type ScriptedUsage } from "./script.ts";

interface OpenItem {
  readonly kind: "message" | "reasoning";
  readonly id: string;
  text: string;
}

export const responsesWire: Encoding = {
  encoder: ({ answer, model, usage }) => new ResponsesEncoder(answer, model, usage),
  refusal(kind, message) {
    const { status, error } = openaiError(kind, message);
    return { status, body: JSON.stringify({ error }) };
  },
};

class ResponsesEncoder implements Encoder {
  readonly #answer: number;
  readonly #model: string;
  readonly #usage: ScriptedUsage;
  readonly #output: object[] = [];
  #sequence = 0;
  #open: OpenItem | undefined;

  constructor(answer: number, model: string, usage: ScriptedUsage) {
    this.#answer = answer;
    this.#model = model;
    this.#usage = usage;
  }

  start(): string {
    const response = this.#response("in_progress");
    return (
      this.#event("response.created", { response }) +
      this.#event("response.in_progress", { response })
    );
  }

  text(delta: string): string {
    let frames = "";
    if (this.#open?.kind !== "message") {
      frames = this.#close() + this.#add("message");
      const part = { type: "output_text", text: "", annotations: [] };
      frames += this.#itemEvent("response.content_part.added", { content_index: 0, part });
    }
    this.#open!.text += delta;
    return frames + this.#itemEvent("response.output_text.delta", { content_index: 0, delta });
  }

  thinking(delta: string): string {
    let frames = "";
    if (this.#open?.kind !== "reasoning") {
      frames = this.#close() + this.#add("reasoning");
      const part = { type: "summary_text", text: "" };
      frames += this.#itemEvent("response.reasoning_summary_part.added", {
        summary_index: 0,
        part,
      });
    }
    this.#open!.text += delta;
    const grown = { summary_index: 0, delta };
    return frames + this.#itemEvent("response.reasoning_summary_text.delta", grown);
  }

  call(call: Parameters<Encoder["call"]>[0]): string {
    let frames = this.#close();
    const output_index = this.#output.length;
    const id = `fc_${this.#answer}_${output_index}`;
    const item = { type: "function_call", id, call_id: call.id, name: call.name };
    frames += this.#event("response.output_item.added", {
      output_index,
      item: { ...item, arguments: "", status: "in_progress" },
    });
    const texts = argumentDeltas(call);
    const at = { item_id: id, output_index };
    for (const delta of texts)
      frames += this.#event("response.function_call_arguments.delta", { ...at, delta });
    const done = { ...item, arguments: texts.join(""), status: "completed" };
    this.#output.push(done);
    return (
      frames +
      this.#event("response.function_call_arguments.done", { ...at, arguments: done.arguments }) +
      this.#event("response.output_item.done", { output_index, item: done })
    );
  }

  breaks(kind: RefusalKind, message: string | undefined): string {
    const { error } = openaiError(kind, message);
    const code = error.code ?? error.type;
    const response = { ...this.#response("failed"), error: { code, message: error.message } };
    return this.#event("response.failed", { response });
  }

  end(stop: "stop" | "length" | "calls"): string {
    const closed = this.#close();
    const response = {
      ...this.#response(stop === "length" ? "incomplete" : "completed"),
      ...(stop === "length" ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
      usage: tokens(this.#usage),
    };
    const type = stop === "length" ? "response.incomplete" : "response.completed";
    return closed + this.#event(type, { response });
  }

  #add(kind: "message" | "reasoning"): string {
    const output_index = this.#output.length;
    const id = `${kind === "message" ? "msg" : "rs"}_${this.#answer}_${output_index}`;
    this.#open = { kind, id, text: "" };
    const item =
      kind === "message"
        ? { type: kind, id, role: "assistant", status: "in_progress", content: [] }
        : { type: kind, id, summary: [] };
    return this.#event("response.output_item.added", { output_index, item });
  }

  #close(): string {
    const open = this.#open;
    if (!open) return "";
    const { kind, id, text } = open;
    const frames =
      kind === "message"
        ? this.#itemEvent("response.output_text.done", { content_index: 0, text })
        : this.#itemEvent("response.reasoning_summary_text.done", { summary_index: 0, text });
    const item =
      kind === "message"
        ? {
            type: kind,
            id,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text, annotations: [] }],
          }
        : {
            type: kind,
            id,
            summary: [{ type: "summary_text", text }],
            encrypted_content: `sealed-${id}`,
          };
    const output_index = this.#output.length;
    this.#output.push(item);
    this.#open = undefined;
    return frames + this.#event("response.output_item.done", { output_index, item });
  }

  #itemEvent(type: string, data: object): string {
    return this.#event(type, {
      item_id: this.#open!.id,
      output_index: this.#output.length,
      ...data,
    });
  }

  #event(type: string, data: object): string {
    return sse({ type, sequence_number: this.#sequence++, ...data }, type);
  }

  #response(status: string): object {
    return {
      id: `resp_scripted_${this.#answer}`,
      object: "response",
      created_at: 0,
      status,
      error: null,
      incomplete_details: null,
      model: this.#model,
      output: [...this.#output],
      usage: null,
    };
  }
}

/** This wire counts cached tokens among the input's. */
function tokens(usage: ScriptedUsage): object {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.output,
  };
}
