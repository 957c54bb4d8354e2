// What a reader sees of the message that pi is writing: the whole so far, at every delta.

import type { Run } from "@lichen/runtime";
import type { JsonObject, Partial } from "@lichen/wire";
import { isObject, numberAt, objectAt, textAt } from "./codec.ts";

export class Shown {
  readonly #run: Pick<Run, "partial">;
  /** Texts and thoughts by their place in the message. */
  readonly #texts = new Map<number, string>();
  readonly #thoughts = new Map<number, string>();
  /** Calls of this message by their place in it, in order. */
  readonly #calls = new Map<number, string>();
  #tool: Partial["tool"];

  constructor(run: Pick<Run, "partial">) {
    this.#run = run;
  }

  /** What streamed is kept now, or given up: a new message begins. */
  clear(): void {
    this.#texts.clear();
    this.#thoughts.clear();
    this.#calls.clear();
    this.#tool = undefined;
  }

  update(update: JsonObject): void {
    const at = numberAt(update, "contentIndex");
    const delta = textAt(update, "delta");
    switch (textAt(update, "type")) {
      case "text_delta":
        grow(this.#texts, at, delta);
        break;
      case "text_end":
        this.#texts.set(at, textAt(update, "content"));
        return;
      case "thinking_delta":
        grow(this.#thoughts, at, delta);
        break;
      case "thinking_end":
        this.#thoughts.set(at, textAt(update, "content"));
        return;
      case "toolcall_start":
        this.#calls.set(at, nameOf(update, at));
        this.#tool = { index: this.#calls.size - 1, name: this.#calls.get(at) ?? "", argsText: "" };
        break;
      case "toolcall_delta":
        if (!this.#tool) return;
        this.#tool = { ...this.#tool, argsText: (this.#tool.argsText ?? "") + delta };
        break;
      default:
        return;
    }
    const [text, thinking] = [joined(this.#texts), joined(this.#thoughts)];
    this.#run.partial({
      ...(text === "" ? {} : { text }),
      ...(thinking === "" ? {} : { thinking }),
      ...(this.#tool ? { tool: this.#tool } : {}),
    });
  }
}

function grow(texts: Map<number, string>, at: number, delta: string): void {
  texts.set(at, (texts.get(at) ?? "") + delta);
}

function joined(texts: ReadonlyMap<number, string>): string {
  return [...texts.values()].join("");
}

/** Older versions say the name only in the message so far. */
function nameOf(update: JsonObject, at: number): string {
  const named = textAt(update, "toolName");
  if (named !== "") return named;
  const { content } = objectAt(update, "partial");
  const block = Array.isArray(content) ? content[at] : undefined;
  return isObject(block) ? textAt(block, "name") : "";
}
