// One run of Claude Code: what its lines mean to the log, and when it is at its end.
//
//   CC1  A line stands in the log together with the message that it means; no line is lost, none counts twice.
//   CC2  The run ends with the result that follows the taking of every message that was written.

import type { Draft, Run } from "@lichen/runtime";
import type { EntryData, Json, JsonObject } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import { Asks } from "./asks.ts";
import { Calls } from "./calls.ts";
import type { Block, DurableLine, ToolResult, TurnResult } from "./line.ts";
import { type Message, unknownLine, userLine } from "./outgoing.ts";
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

/** A message that was written, and whether it was taken. */
interface Said extends Message {
  isTaken: boolean;
  /** It can be taken back no more: the next turn that ends is the one that it is in. */
  isInHand?: boolean;
}

/** How long a message may lie there before it is written again; it is known by its uuid. */
const patienceMs = 60_000;

export class Turn {
  readonly run: Run;
  readonly asks: Asks;
  readonly calls: Calls;
  readonly #it: TurnContext;
  readonly #said = new Map<string, Said>();
  #end = Promise.withResolvers<TurnEnd>();
  #result: TurnResult | undefined;
  #hasBegun = false;
  #isInTurn = false;
  /** The turn in hand is of a message that came back, or of none of ours. */
  #isTurnTaken = false;
  /** A job in the background has ended since the last turn began: the next may be about that. */
  #isWoken = false;
  #isOwnTurn = false;
  #speaking = 0;
  #compaction: { automatic: boolean; tokensBefore: number } | undefined;
  #cancelWait: (() => void) | undefined;
  #interrupt: (() => void) | undefined;
  #makesWay = false;

  constructor(run: Run, it: TurnContext) {
    this.run = run;
    this.#it = it;
    this.calls = new Calls(run, it);
    this.asks = new Asks(run, { ...it, calls: this.calls });
  }

  /** From now on it can end. `isInTurn`: Claude Code is in a turn already, into which a message is taken. */
  begin(isInTurn: boolean): Promise<TurnEnd> {
    this.#end = Promise.withResolvers();
    this.#hasBegun = isInTurn;
    this.#isInTurn = isInTurn;
    this.#isTurnTaken = isInTurn;
    this.#result = undefined;
    this.#said.clear();
    return this.#end.promise;
  }

  /** Nothing was said that is not over, and no turn is in hand: what it still does is no turn's. */
  get isAtRest(): boolean {
    return !this.#isInTurn && this.#waiting.length === 0;
  }

  /** What was written and not taken, oldest first. */
  get unread(): readonly string[] {
    return this.#waiting.map(({ uuid }) => uuid);
  }

  /** What the turn in hand is of, where that has not come back: it may with the first thing said, or never. */
  get messageInHand(): string | undefined {
    const isOfMessage = this.#isInTurn && !this.#isTurnTaken && !this.#isOwnTurn;
    return isOfMessage ? this.unread[0] : undefined;
  }

  get #waiting(): Said[] {
    return [...this.#said.values()].filter(({ isTaken }) => !isTaken);
  }

  /** The run is cancelled: a turn that begins all the same is interrupted, and nothing it asks is allowed. */
  stop(interrupt: () => void): void {
    this.#interrupt = interrupt;
    this.#cancelWait?.();
    this.asks.refuseAll();
  }

  /** Claude Code has just begun a turn, which is not in the log yet: one that nobody wants any more is over at once. */
  noteBegun(): void {
    this.#interrupt?.();
  }

  /** A message is no more waited for: it was taken back, or is part of the turn that ends next. */
  giveUp(uuid: string, how: { readonly isInHand: boolean }): void {
    const said = this.#said.get(uuid);
    if (!said) return;
    if (how.isInHand) said.isInHand = true;
    else said.isTaken = true;
  }

  /**
   * Writes a message. It is part of the run from here on: no result before it is taken ends the run. A run that is
   * stopped says nothing more.
   */
  async say(message: Message): Promise<void> {
    if (this.run.signal.aborted) return;
    this.#said.set(message.uuid, { ...message, isTaken: false });
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

  /** Somebody waits for its end: from now on it does not go on only to wait for a person. */
  makeWay(): void {
    this.#makesWay = true;
    this.#mayMakeWay();
  }

  #mayMakeWay(): void {
    if (this.#makesWay && this.isAtRest && this.#speaking === 0 && this.asks.isWaiting)
      this.#end.resolve({ is: "quiet" });
  }

  gone(gone: Gone): void {
    this.#end.resolve({ is: "gone", gone });
  }

  close(): void {
    this.#cancelWait?.();
    this.calls.close();
  }

  /** Writes what the lines mean, and acts on them once that is durable. */
  async take(lines: readonly DurableLine[]): Promise<void> {
    const some: DurableLine[] = [];
    for (const line of lines) {
      if (line.is === "assistant" && some.some(({ is }) => is === "results"))
        await this.#take(some.splice(0));
      some.push(line);
    }
    if (some.length > 0) await this.#take(some);
    this.#mayMakeWay();
  }

  async #take(lines: readonly DurableLine[]): Promise<void> {
    // What is said after a call stands after its outcome.
    if (lines.some(({ is }) => is === "assistant")) await this.calls.settled();
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

  /** Adds the drafts that a line means besides itself; answers what follows once they are durable. */
  #meaning(line: DurableLine, drafts: Draft[]): ((ids: readonly string[]) => void) | undefined {
    switch (line.is) {
      case "init":
        return () => this.#begins();
      case "assistant":
        return this.#says(line, drafts);
      case "results":
        drafts.push(...this.calls.unmade(line.results));
        return () => this.#outcomes(line.results);
      case "replayed":
        return () => this.#taken(line.uuid);
      case "asks":
        return () => this.asks.ask(line.request);
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
        return () => {
          this.#isWoken = true;
        };
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
        this.calls.open({ assistant, index, callId: id, name, input, label: labelOf(name) });
    };
  }

  #outcomes(results: readonly ToolResult[]): void {
    for (const result of results) {
      this.calls.end(result);
      this.asks.callEnded(result.id);
    }
  }

  #begins(): void {
    this.#hasBegun = true;
    this.#isInTurn = true;
    this.#isTurnTaken = false;
    this.#isOwnTurn = this.#isWoken;
    this.#isWoken = false;
    this.#result = undefined;
    this.#cancelWait?.();
  }

  #taken(uuid: string): void {
    const said = this.#said.get(uuid);
    // What a command puts out comes back too, under ids of its own.
    if (!said) return;
    this.#isTurnTaken = true;
    if (said.isTaken) return;
    said.isTaken = true;
    this.#cancelWait?.();
    // A turn is opened before a message of it is taken; one that is known from before comes back at once.
    if (!this.#hasBegun) this.#end.resolve({ is: "known", uuid });
    this.#mayEnd();
  }

  #ends(result: TurnResult): void {
    this.#addUsage(result);
    this.#isInTurn = false;
    for (const said of this.#waiting) said.isTaken ||= said.isInHand === true;
    const waiting = this.#waiting;
    // A turn of its own that has taken all in is the run's.
    if (!result.isOwn || waiting.length === 0) this.#result = result;
    // Commands of Claude Code's own never come back, nor does what a hook refuses: a turn of no message is theirs.
    const [first] = waiting;
    if (
      first &&
      !result.isOwn &&
      !this.#isTurnTaken &&
      (isCommand(first.text) || result.turns === 0)
    )
      first.isTaken = true;
    this.#isTurnTaken = false;
    this.#mayEnd();
    this.#watch();
  }

  #mayEnd(): void {
    if (!this.#result || this.#speaking > 0) return;
    if (this.#waiting.length > 0) return;
    this.#cancelWait?.();
    this.#end.resolve({ is: "result", result: this.#result });
  }

  /** While Claude Code does nothing about what was written, it is written again; it is known by its uuid. */
  #watch(): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#it.after(patienceMs, () => {
      const waiting = this.#waiting;
      // A person takes as long as they do.
      if (this.asks.isWaiting) return this.#watch();
      if (this.#said.size === 0 && !this.#hasBegun) return this.#end.resolve({ is: "quiet" });
      // What waits for the end of a turn would come back at once, as if it were taken.
      if (!this.#isInTurn)
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
    this.#it.write(unknownLine(id, subtype)).catch(() => {
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

/** What a line of Claude Code is where no run is: kept as it is. */
export function lineDraft(raw: Json) {
  return { kind: "harness.line", data: { harness: "claude", line: raw } } as const;
}
