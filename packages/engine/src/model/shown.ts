// What a reader sees of the message being written: the whole so far, at every delta.

import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import type { Run } from "@lichen/runtime";
import type { Partial } from "@lichen/wire";

export class Shown {
  readonly #run: Pick<Run, "partial">;
  #text = "";
  #thinking = "";
  #tool: Partial["tool"];

  constructor(run: Pick<Run, "partial">) {
    this.#run = run;
  }

  /** A new message begins. */
  begin(): void {
    this.#text = "";
    this.#thinking = "";
    this.#tool = undefined;
  }

  update(event: AssistantMessageEvent): void {
    switch (event.type) {
      case "text_delta":
        this.#text += event.delta;
        break;
      case "thinking_delta":
        this.#thinking += event.delta;
        break;
      case "toolcall_delta":
      case "toolcall_start": {
        const call = callAt(event);
        if (!call) return;
        const isSame = this.#tool?.index === call.index;
        const argsText = (isSame ? (this.#tool?.argsText ?? "") : "") + deltaOf(event);
        this.#tool = { ...call, argsText };
        break;
      }
      case "start":
      case "text_start":
      case "text_end":
      case "thinking_start":
      case "thinking_end":
      case "toolcall_end":
      case "done":
      case "error":
        return;
    }
    this.#run.partial({
      ...(this.#text === "" ? {} : { text: this.#text }),
      ...(this.#thinking === "" ? {} : { thinking: this.#thinking }),
      ...(this.#tool ? { tool: this.#tool } : {}),
    });
  }
}

type CallEvent = Extract<AssistantMessageEvent, { type: "toolcall_start" | "toolcall_delta" }>;

function callAt({ partial, contentIndex }: CallEvent): { index: number; name: string } | undefined {
  const block = partial.content[contentIndex];
  if (block?.type !== "toolCall") return undefined;
  const before = partial.content.slice(0, contentIndex);
  return { index: before.filter((it) => it.type === "toolCall").length, name: block.name };
}

function deltaOf(event: CallEvent): string {
  return event.type === "toolcall_delta" ? event.delta : "";
}
