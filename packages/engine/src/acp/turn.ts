// What one run records of its agent: updates become what streams, messages, calls and lines, in their order.
//
//   - A piece of a message is shown at once and stored once, with its whole message.
//   - Nothing that streams is shown while an earlier message is still being written.
//   - What a call puts out on its way is shown, not stored: the lines of its beginning, its steps and its end are.

import type { Draft, Run } from "@lichen/runtime";
import { type Json, noUsage, type Usage } from "@lichen/wire";
import { type KnownCall, inputOf, nameOf, outputSoFar } from "./call-text.ts";
import { Calls, type Place } from "./calls.ts";
import { type AssistantStop, lineOf, Message } from "./message.ts";
import { Recorder } from "./recorder.ts";
import type { CallFields, ChunkUpdate, Update } from "./wire.ts";

export class Turn {
  readonly run: Run;
  readonly recorder: Recorder;
  readonly calls: Calls;
  /** The agent was told something in it, or has begun it. */
  wasSent = false;
  readonly #message: Message;
  /** Messages that are not written yet. */
  #unwritten = 0;
  #usage: Usage = noUsage;

  constructor(run: Run, sessionId: () => string) {
    this.run = run;
    this.recorder = new Recorder((drafts) => run.append(drafts));
    this.#message = new Message(sessionId);
    this.calls = new Calls({
      run,
      recorder: this.recorder,
      announce: (call) => this.#announce(call),
    });
  }

  update(update: Update | undefined, line: Json): void {
    if (!update) return this.line(line);
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return this.#hear(update, line);
      case "user_message_chunk":
        // An echo of what was sent, which is in the log already.
        return;
      case "tool_call":
      case "tool_call_update":
        return this.#hearOfCall(update, line);
      case "available_commands_update":
      case "current_mode_update":
      case "config_option_update":
      case "usage_update":
        return this.line(line);
    }
  }

  line(line: Json): void {
    this.recorder.record(lineOf(line));
  }

  addUsage(usage: Usage): void {
    const cost = (this.#usage.cost ?? 0) + (usage.cost ?? 0);
    this.#usage = {
      input: this.#usage.input + usage.input,
      output: this.#usage.output + usage.output,
      cacheRead: this.#usage.cacheRead + usage.cacheRead,
      cacheWrite: this.#usage.cacheWrite + usage.cacheWrite,
      ...(cost > 0 ? { cost } : {}),
    };
  }

  /** The message so far as drafts, for those who write it themselves; none where nothing was said. */
  last(stop: AssistantStop): Draft[] {
    const usage = this.#usage;
    this.#usage = noUsage;
    const hasUsage = Object.values(usage).some((count) => count !== 0);
    if (this.#message.isEmpty) {
      if (hasUsage) this.run.addUsage(usage);
      return [];
    }
    const { lines, content } = this.#message.take();
    const data = { content, stop, ...(hasUsage ? { usage } : {}) };
    return [...lines, { kind: "message.assistant", data }];
  }

  /** Writes the message so far. */
  endMessage(stop: AssistantStop): void {
    const drafts = this.last(stop);
    const message = drafts.at(-1);
    if (!message) return;
    for (const draft of drafts.slice(0, -1)) this.recorder.record(draft);
    this.#write(message, () => {});
  }

  #hear(update: ChunkUpdate, line: Json): void {
    if (this.#message.isOther(update)) this.endMessage("stop");
    // What is no text stands in the log as it came.
    if (update.content.type !== "text") this.line(line);
    this.#message.add(update);
    this.#show();
  }

  #hearOfCall(news: CallFields, line: Json): void {
    const { known, isStep } = this.calls.update(news);
    if (isStep && this.#message.isEmpty) this.line(line);
    else if (isStep) this.#message.hold(line);
    if (news.status !== "completed" && news.status !== "failed") this.#showCall(known);
  }

  #announce(call: KnownCall): Promise<Place> {
    const { promise, resolve, reject } = Promise.withResolvers<Place>();
    const { signal } = this.run;
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const { lines, content } = this.#message.take();
    for (const line of lines) this.recorder.record(line);
    const block = {
      ...{ type: "call" as const, index: 0, callId: call.callId },
      ...{ name: nameOf(call), input: inputOf(call) },
    };
    const data = { content: [...content, block], stop: "calls" as const };
    this.#write({ kind: "message.assistant", data }, (id) => resolve({ assistant: id, index: 0 }));
    return promise;
  }

  #write(draft: Draft, written: (id: string) => void): void {
    this.#unwritten++;
    this.recorder.record(draft, (entry) => {
      this.#unwritten--;
      written(entry.id);
      this.#show();
    });
  }

  #show(): void {
    if (this.#unwritten === 0 && !this.#message.isEmpty) this.run.partial(this.#message.partial());
  }

  #showCall(call: KnownCall): void {
    if (this.#unwritten > 0) return;
    const output = outputSoFar(call);
    this.run.partial({
      ...this.#message.partial(),
      tool: {
        ...{ index: 0, name: nameOf(call) },
        ...(output ? { output } : { argsText: JSON.stringify(inputOf(call)) }),
      },
    });
  }
}
