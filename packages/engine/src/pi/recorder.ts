// What pi said in a run, into the log: each line with the message that it means, each call through its order.

import type { Call, Draft, Outcome, Run } from "@lichen/runtime";
import {
  addUsage,
  type EntryData,
  type Json,
  type JsonObject,
  noUsage,
  type Usage,
} from "@lichen/wire";
import { textAt } from "./codec.ts";
import { assistantOf, type MadeCall, outcomeOf, type Said } from "./messages.ts";

export const harness = "pi";

export function lineDraft(line: Json): Draft & { readonly kind: "harness.line" } {
  return { kind: "harness.line", data: { harness, line } };
}

const lost: Outcome = {
  content: [
    {
      type: "text",
      text: "The process ended before this call's result was recorded. Its effect is unknown: check before you repeat it.",
    },
  ],
  isError: true,
};

interface OpenCall {
  readonly call: MadeCall;
  readonly outcome: PromiseWithResolvers<Outcome>;
  /** Settles when the outcome is durable, or the run is over. Never rejects. */
  readonly recorded: Promise<void>;
}

export class Recorder {
  readonly #run: Run;
  readonly #open = new Map<string, OpenCall>();
  /** Calls of an earlier process that have no outcome in the log. */
  readonly #left = new Map<string, Call>();
  #last: Said | undefined;
  #used: Usage = noUsage;
  #unsaid: Usage = noUsage;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The newest assistant message. */
  get last(): Said | undefined {
    return this.#last;
  }

  /** The turn has its answer. */
  get hasLastWord(): boolean {
    return this.#last?.stop === "stop";
  }

  /** What the messages and compactions that are recorded cost. */
  get used(): Usage {
    return this.#used;
  }

  /** What messages cost that broke off before their first word. */
  get unsaid(): Usage {
    return this.#unsaid;
  }

  /** A call that may have changed something has no outcome yet. */
  get isWriting(): boolean {
    return [...this.#open.values()].some(({ call }) => call.label === "write");
  }

  /** Who speaks now is not whoever spoke before: an answer of an earlier message is none to this one. */
  forget(): void {
    this.#last = undefined;
  }

  async lines(...lines: Json[]): Promise<void> {
    await this.#run.append(lines.map(lineDraft));
  }

  async compaction(line: Json, data: EntryData["compaction"]): Promise<void> {
    this.count(data.usage);
    await this.#run.append([lineDraft(line), { kind: "compaction", data }]);
  }

  /** What an entry costs that the settlement brings. */
  count(usage: Usage = noUsage): void {
    this.#used = addUsage(this.#used, usage);
  }

  async assistant(line: Json, message: JsonObject): Promise<void> {
    const said = assistantOf(message);
    this.#last = said;
    const { data } = said;
    if (!data) {
      this.#unsaid = addUsage(this.#unsaid, said.usage);
      return this.lines(line);
    }
    this.count(said.usage);
    const entries = await this.#run.append([lineDraft(line), { kind: "message.assistant", data }]);
    const entry = entries.find(({ kind }) => kind === "message.assistant");
    if (!entry) throw new Error("The log answered an append without its entry.");
    for (const call of said.calls) this.#begin(entry.id, call);
  }

  async toolResult(line: Json, message: JsonObject): Promise<void> {
    const callId = textAt(message, "toolCallId");
    const left = this.#left.get(callId);
    if (left) return this.#toolResultOf(left, [lineDraft(line)], message);
    await this.lines(line);
    const open = this.#open.get(callId);
    if (!open) return;
    open.outcome.resolve(outcomeOf(message));
    await open.recorded;
  }

  /** An assistant message that an earlier process recorded as `entry`; `hasOutcome` by the place of a call in it. */
  adopt(
    entry: string | undefined,
    message: JsonObject,
    hasOutcome: (index: number) => boolean,
  ): void {
    const said = assistantOf(message);
    this.#last = said;
    if (said.data) this.count(said.usage);
    if (entry === undefined) return;
    for (const call of said.calls)
      if (!hasOutcome(call.index)) this.#left.set(call.callId, { ...call, assistant: entry });
  }

  /** The result of an adopted call, which an earlier process recorded as a line and no further. */
  async adoptResult(message: JsonObject): Promise<void> {
    const left = this.#left.get(textAt(message, "toolCallId"));
    if (left) await this.#toolResultOf(left, [], message);
  }

  /** Whatever has no result by now never gets one: its process is gone. */
  async loseOpen(): Promise<void> {
    for (const call of this.#left.values()) await this.#run.call(call, () => Promise.resolve(lost));
    this.#left.clear();
    for (const { outcome, recorded } of this.#open.values()) {
      outcome.resolve(lost);
      await recorded;
    }
  }

  async #toolResultOf(call: Call, drafts: readonly Draft[], message: JsonObject): Promise<void> {
    const { assistant, index, callId, name } = call;
    this.#left.delete(callId);
    const data = { assistant, index, callId, name, ...outcomeOf(message) };
    await this.#run.append([...drafts, { kind: "message.tool", data }]);
  }

  /** What a running call puts out, the whole so far. */
  output(callId: string, output: string): void {
    const open = this.#open.get(callId);
    if (!open || output === "") return;
    const { index, name } = open.call;
    this.#run.partial({ tool: { index, name, output } });
  }

  #begin(assistant: string, call: MadeCall): void {
    const outcome = Promise.withResolvers<Outcome>();
    // What is still open when the run ends is closed by its settlement.
    const recorded = this.#run
      .call({ ...call, assistant }, (_input, signal) => untilAborted(outcome.promise, signal))
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (this.#open.get(call.callId)?.outcome === outcome) this.#open.delete(call.callId);
      });
    this.#open.set(call.callId, { call, outcome, recorded });
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
