// One run of Claude Code: what its lines mean to the log, and when it is at its end.
//
//   CC1  A line stands in the log together with the message that it means; no line is lost, none counts twice.
//   CC2  The run ends with the result that follows the taking of every message that was written.

import type { Call, Draft, Outcome, Run } from "@lichen/runtime";
import type { EntryData, Json, JsonObject } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import { Asks } from "./asks.ts";
import type { Block, DurableLine, ToolResult, TurnResult } from "./line.ts";
import { type Message, refusalLine, userLine } from "./outgoing.ts";
import { labelOf } from "./tools.ts";

export type TurnEnd =
  | { readonly is: "result"; readonly result: TurnResult }
  /** A message was known already, and starts no turn. */
  | { readonly is: "known"; readonly uuid: string }
  /** Nothing came of what woke it. */
  | { readonly is: "quiet" }
  | { readonly is: "gone"; readonly gone: Gone };

export interface TurnContext {
  write(line: JsonObject): Promise<void>;
  isAutoApproving(): boolean;
  isTrusted(): boolean;
  after(ms: number, wake: () => void): () => void;
  report(error: unknown): void;
  /** What a result's running total has risen by, in US dollars. */
  costOf(result: TurnResult): number | undefined;
}

/** A message that was written, and how far it came. */
interface Said extends Message {
  /** Results that came since Claude Code could have begun with it. */
  results: number;
  isTaken: boolean;
}

/** A call whose outcome is waited for. */
interface OpenCall {
  readonly call: Omit<Call, "replaySafe">;
  /** None where an earlier process began it. */
  readonly settle?: (outcome: Outcome) => void;
  /** Settles when its outcome is in the log. */
  readonly recorded?: Promise<unknown>;
}

/** How long a message may lie there before it is written again; it is known by its uuid. */
const patienceMs = 60_000;

export class Turn {
  readonly run: Run;
  readonly asks: Asks;
  readonly #it: TurnContext;
  readonly #said = new Map<string, Said>();
  readonly #calls = new Map<string, OpenCall>();
  readonly #running = new Set<Promise<unknown>>();
  #end = Promise.withResolvers<TurnEnd>();
  #result: TurnResult | undefined;
  #hasBegun = false;
  #speaking = 0;
  #streamed = { text: "", thinking: "" };
  #compaction: { automatic: boolean; tokensBefore: number } | undefined;
  #cancelWait: (() => void) | undefined;

  constructor(run: Run, it: TurnContext) {
    this.run = run;
    this.#it = it;
    this.asks = new Asks(run, it);
  }

  /** From now on it can end. `isInTurn`: Claude Code is in a turn already, into which a message is taken. */
  begin(isInTurn: boolean): Promise<TurnEnd> {
    this.#end = Promise.withResolvers();
    this.#hasBegun = isInTurn;
    this.#result = undefined;
    this.#said.clear();
    return this.#end.promise;
  }

  /** Writes a message. It is part of the run from here on: no result before it is taken ends the run. */
  async say(message: Message): Promise<void> {
    this.#said.set(message.uuid, { ...message, results: 0, isTaken: false });
    await this.#it.write(userLine(message));
    this.#watch();
  }

  /** Does what makes a message, which may take a while: the run does not end meanwhile. */
  async speak(work: () => Promise<void>): Promise<void> {
    this.#speaking++;
    try {
      await work();
    } finally {
      this.#speaking--;
      this.#mayEnd();
    }
  }

  /** Without a message of its own: it ends by itself where nothing follows. */
  follow(): void {
    this.#watch();
  }

  /** A new block of a message begins. */
  block(): void {
    this.#streamed = { text: "", thinking: "" };
  }

  delta(what: "text" | "thinking", text: string): void {
    this.#streamed[what] += text;
    this.run.partial({ [what]: this.#streamed[what] });
  }

  gone(gone: Gone): void {
    this.#end.resolve({ is: "gone", gone });
  }

  close(): void {
    this.#cancelWait?.();
    this.asks.forget();
  }

  /** Calls that an earlier process left open. */
  adopt(calls: readonly OpenCall["call"][]): void {
    for (const call of calls) this.#calls.set(call.callId, { call });
  }

  /** Outcomes of calls that an earlier process left, which it has heard. */
  async record(results: readonly ToolResult[]): Promise<void> {
    const drafts: Draft[] = [];
    for (const result of results) this.#record(result, drafts);
    if (drafts.length > 0) await this.run.append(drafts);
  }

  /** Those that may have begun: a call whose permission was still waited for has not. */
  get openCalls(): readonly OpenCall["call"][] {
    return [...this.#calls.values()]
      .map(({ call }) => call)
      .filter(({ callId }) => !this.asks.wasLost(callId));
  }

  /** Writes what the lines mean, and acts on them once that is durable. */
  async take(lines: readonly DurableLine[]): Promise<void> {
    const drafts: Draft[] = [];
    const then: ((ids: readonly string[]) => void)[] = [];
    for (const line of lines) {
      drafts.push({ kind: "harness.line", data: { harness: "claude", line: line.raw } });
      const follows = this.#meaning(line, drafts);
      if (follows) then.push(follows);
    }
    const entries = await this.run.append(drafts);
    const ids = entries.map(({ id }) => id);
    for (const act of then) act(ids);
  }

  /** Calls whose outcome has come are in the log when it settles. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** What the process's death leaves open ends as unknown. */
  async abandonCalls(): Promise<void> {
    for (const [id, { call, settle }] of this.#calls) {
      if (settle) this.#settle(id, this.asks.wasLost(id) ? notRun : unknownOutcome);
      else await this.run.call({ ...call, replaySafe: false }, async () => unknownOutcome);
      this.#calls.delete(id);
    }
    await this.settled();
  }

  /** Adds the drafts that a line means besides itself; answers what follows once they are durable. */
  #meaning(line: DurableLine, drafts: Draft[]): ((ids: readonly string[]) => void) | undefined {
    switch (line.is) {
      case "init":
        return () => this.#begins();
      case "assistant":
        return this.#says(line, drafts);
      case "results":
        for (const result of line.results) this.#record(result, drafts);
        return () => line.results.forEach((result) => this.#outcome(result));
      case "replayed":
        return () => this.#taken(line.uuid);
      case "asks":
        return () => this.asks.ask(line.request, this.#calls.get(line.request.callId ?? "")?.call);
      case "cancels":
        return () => this.asks.cancel(line.id);
      case "requests":
        return () => this.#refuse(line.id, line.subtype);
      case "compacted":
        this.#compaction = line;
        return undefined;
      case "user":
        this.#summary(line.text, drafts);
        return undefined;
      case "result":
        return () => this.#ends(line.result);
      case "woken":
      case "aside":
      case "other":
        return undefined;
    }
  }

  #says(line: DurableLine & { is: "assistant" }, drafts: Draft[]) {
    const calls = line.blocks.filter((block) => block.type === "call");
    if (line.blocks.length === 0) return undefined;
    const at = drafts.length;
    drafts.push({
      kind: "message.assistant",
      data: {
        content: contentOf(line.blocks),
        api: "claude-code",
        stop: calls.length > 0 ? "calls" : "stop",
        ...(line.model === undefined ? {} : { provider: "anthropic", model: line.model }),
      },
    });
    return (ids: readonly string[]) => {
      const assistant = ids[at] ?? "";
      for (const [index, { id, name, input }] of calls.entries())
        this.#starts({ assistant, index, callId: id, name, input, label: labelOf(name) });
    };
  }

  #starts(call: OpenCall["call"]): void {
    const outcome = Promise.withResolvers<Outcome>();
    // A call that nobody ends is closed by the settlement.
    const recorded = this.run
      .call({ ...call, replaySafe: false }, (_input, signal) =>
        untilAborted(outcome.promise, signal),
      )
      .catch(() => {});
    this.#calls.set(call.callId, { call, recorded, settle: outcome.resolve });
  }

  /** The outcome of a call that an earlier process left: nobody waits for it here. */
  #record(result: ToolResult, drafts: Draft[]): void {
    const open = this.#calls.get(result.id);
    if (!open || open.settle) return;
    const { assistant, index, callId, name } = open.call;
    drafts.push({
      kind: "message.tool",
      data: { assistant, index, callId, name, ...outcomeOf(result) },
    });
    this.#calls.delete(result.id);
  }

  #outcome(result: ToolResult): void {
    this.#settle(result.id, outcomeOf(result));
    this.asks.callEnded(result.id);
  }

  #settle(id: string, outcome: Outcome): void {
    const open = this.#calls.get(id);
    this.#calls.delete(id);
    if (!open?.settle || !open.recorded) return;
    open.settle(outcome);
    const { recorded } = open;
    this.#running.add(recorded);
    void recorded.then(() => this.#running.delete(recorded));
  }

  #begins(): void {
    this.#hasBegun = true;
    this.#result = undefined;
    this.#cancelWait?.();
  }

  #taken(uuid: string): void {
    const said = this.#said.get(uuid);
    if (!said || said.isTaken) return;
    said.isTaken = true;
    this.#cancelWait?.();
    // A turn is opened before a message of it is taken; one that is known from before comes back at once.
    if (!this.#hasBegun) this.#end.resolve({ is: "known", uuid });
    this.#mayEnd();
  }

  #ends(result: TurnResult): void {
    this.#addUsage(result);
    if (!result.isOwn || this.#said.size === 0) this.#result = result;
    const waiting = [...this.#said.values()].filter(({ isTaken }) => !isTaken);
    // Commands of Claude Code's own are never acknowledged, and what a hook refuses is not either.
    const [first] = waiting;
    if (first && !result.isOwn && (isCommand(first.text) ? first.results >= 0 : result.turns === 0))
      first.isTaken = true;
    for (const said of waiting) said.results++;
    this.#mayEnd();
    this.#watch();
  }

  #mayEnd(): void {
    if (!this.#result || this.#speaking > 0) return;
    if ([...this.#said.values()].some(({ isTaken }) => !isTaken)) return;
    this.#cancelWait?.();
    this.#end.resolve({ is: "result", result: this.#result });
  }

  /** While Claude Code does nothing about what was written, it is written again; it is known by its uuid. */
  #watch(): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#it.after(patienceMs, () => {
      const waiting = [...this.#said.values()].filter(({ isTaken }) => !isTaken);
      if (this.#said.size === 0 && !this.#hasBegun) return this.#end.resolve({ is: "quiet" });
      for (const said of waiting) this.#it.write(userLine(said)).catch(() => {});
      if (waiting.length > 0) this.#watch();
    });
  }

  #addUsage(result: TurnResult): void {
    const cost = this.#it.costOf(result);
    const { input, output, cacheRead, cacheWrite } = result.usage;
    if (input + output + cacheRead + cacheWrite === 0 && !cost) return;
    this.run.addUsage({ ...result.usage, ...(cost === undefined ? {} : { cost }) });
  }

  #refuse(id: string, subtype: string): void {
    this.#it
      .write(refusalLine(id, `Lichen does not know requests of the kind ${subtype}.`))
      .catch(() => {
        // The process is gone, and with it the question.
      });
  }

  #summary(text: string, drafts: Draft[]): void {
    const compaction = this.#compaction;
    this.#compaction = undefined;
    if (!compaction) return;
    const { automatic, tokensBefore } = compaction;
    drafts.push({ kind: "compaction", data: { summary: text, tokensBefore, automatic } });
  }
}

export function isCommand(text: string): boolean {
  return text.startsWith("/");
}

export const unknownOutcome: Outcome = {
  content: [
    {
      type: "text",
      text: "The process ended in this call. Its effect is unknown: check before you repeat it.",
    },
  ],
  isError: true,
};

const notRun: Outcome = {
  content: [
    {
      type: "text",
      text: "This call did not run: the process ended while its permission was waited for.",
    },
  ],
  isError: true,
};

function outcomeOf({ content, isError }: ToolResult): Outcome {
  return { content, isError };
}

function contentOf(blocks: readonly Block[]): EntryData["message.assistant"]["content"] {
  let index = 0;
  return blocks.map((block) => {
    switch (block.type) {
      case "text":
        return { type: "text", text: block.text };
      case "thinking": {
        const { text, signature } = block;
        return { type: "thinking", text, ...(signature === undefined ? {} : { signature }) };
      }
      case "redacted":
        return { type: "thinking", text: "", redacted: true };
      case "call": {
        const { id: callId, name, input } = block;
        return { type: "call", index: index++, callId, name, input };
      }
    }
  });
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** What a line of Claude Code is where no run is: kept as it is. */
export function lineDraft(raw: Json) {
  return { kind: "harness.line", data: { harness: "claude", line: raw } } as const;
}
