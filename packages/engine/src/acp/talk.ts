// The talk with one process of the agent: what it told, sorted into the turn in hand, what belongs to no turn, and what
// is only a repetition.
//
//   - What a conversation that was gone back to repeats is not recorded again.
//   - What the agent says by itself, after it was first spoken to and outside of any turn, opens a run of its own.
//   - Of the session's own only: what comes under another session's name is left out, and reported once for each.

import type { EngineHost } from "@lichen/runtime";
import { Fault, type Json, noUsage } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import type { Asks } from "./asks.ts";
import type { Choices } from "./choices.ts";
import type { Greeted } from "./greeting.ts";
import { lineOf } from "./message.ts";
import type { Turn } from "./turn.ts";
import { type Update, updateOf } from "./wire.ts";

export interface TalkOptions {
  readonly host: EngineHost;
  readonly asks: Asks;
  readonly choices: Choices;
  readonly report: (error: unknown) => void;
  /** What the agent says can be recorded no more. */
  readonly unwritable: () => void;
  readonly touch: () => void;
  readonly now: () => number;
  readonly after: (ms: number, wake: () => void) => () => void;
}

const retryMs = 1_000;

interface Early {
  readonly params: unknown;
  readonly line: Json;
}

interface Stray {
  readonly update: Update | undefined;
  readonly line: Json;
}

export class Talk {
  readonly #it: TalkOptions;
  readonly #repeats: boolean;
  #greeted: Greeted | undefined;
  /** The turn that updates belong to now. */
  #turn: Turn | undefined;
  /** What came before the session had its name. */
  #early: Early[] = [];
  readonly #foreign = new Set<string>();
  #strays: Stray[] = [];
  /** The run that was opened for what belongs to none. */
  #outside: PromiseWithResolvers<Turn> | undefined;
  #hasBegun = false;
  #costSoFar: number | undefined;
  #answer: Json | undefined;
  #heardAt = 0;
  #noted: Promise<unknown> = Promise.resolve();
  gone: Gone | undefined;
  /** Names of the agent's own commands. */
  commands: readonly string[] = [];

  constructor(it: TalkOptions) {
    this.#it = it;
    this.#repeats = it.host.harness().conversation !== undefined;
  }

  greeted(greeted: Greeted): void {
    this.#greeted = greeted;
    for (const { params, line } of this.#early.splice(0)) {
      const heard = this.#own(params);
      if (heard?.update) this.#learn(heard.update);
      if (heard && !this.#repeats) this.note(line);
    }
    this.#it.choices.opened(greeted.opened);
    // A conversation that goes on has cost something already: its first word on that sets the mark.
    this.#costSoFar = greeted.isContinued ? undefined : 0;
  }

  get facts(): Greeted["facts"] | undefined {
    return this.#greeted?.facts;
  }

  get sessionId(): string {
    return this.#greeted?.sessionId ?? "";
  }

  /** Whether this is the name of the conversation, also of one that is being gone back to. */
  isOwn(sessionId: string | undefined): boolean {
    const own = this.#greeted?.sessionId ?? this.#it.host.harness().conversation?.id;
    return own !== undefined && sessionId === own;
  }

  get turn(): Turn | undefined {
    return this.#turn;
  }

  get hasStrays(): boolean {
    return this.#strays.length > 0 || this.#outside !== undefined;
  }

  /** Milliseconds since something was heard. */
  get quietMs(): number {
    return this.#it.now() - this.#heardAt;
  }

  /** From here on updates belong to this turn, those first that nobody took so far. */
  begin(turn: Turn): void {
    this.#turn = turn;
    this.#hasBegun = true;
    this.#answer = undefined;
    this.#heardAt = this.#it.now();
    for (const { update, line } of this.#strays.splice(0)) turn.update(update, line);
    this.#outside?.resolve(turn);
    this.#outside = undefined;
  }

  /** Updates belong to no turn any more. Answers the line that ended the turn, where one did. */
  end(): Json | undefined {
    this.#turn = undefined;
    return this.#answer;
  }

  /** The turn in hand, or that of a run that is opened now. */
  turnNow(): Promise<Turn> {
    return this.#turn ? Promise.resolve(this.#turn) : this.#open().promise;
  }

  hear(params: unknown, line: Json): void {
    if (!this.#greeted && !this.isOwn(updateOf(params)?.sessionId)) {
      this.#early.push({ params, line });
      return;
    }
    const heard = this.#own(params);
    if (!heard) return;
    this.#it.touch();
    this.#heardAt = this.#it.now();
    const { update } = heard;
    if (update) this.#learn(update);
    // The conversation that is gone back to is told again.
    if (!this.#greeted) return;
    if (this.#turn) return this.#tell(this.#turn, update, line);
    // What follows on speech that waits for its run belongs to that too, such as the end of a call.
    const isStray = this.#hasBegun && (this.hasStrays || (update && isSpeech(update)));
    if (!isStray) return this.note(line);
    this.#strays.push({ update, line });
    this.#open();
  }

  /** An update of the session's own; nothing where it is none. */
  #own(params: unknown): { readonly update?: Update } | undefined {
    const heard = updateOf(params);
    if (heard && this.isOwn(heard.sessionId)) return heard;
    const whose = heard ? `session ${heard.sessionId}, which is not the one in hand` : "no session";
    if (!this.#foreign.has(whose))
      this.#it.report(new Error(`The agent sent an update of ${whose}: it was left out.`));
    this.#foreign.add(whose);
    return undefined;
  }

  /** The agent's answer to a request of ours. */
  message(line: Json, { answers }: { answers?: string }): void {
    if (answers === "session/prompt") {
      // What follows in this very chunk belongs to no turn any more.
      this.#answer = line;
      this.#turn = undefined;
      return;
    }
    const isKept =
      answers === "initialize" ||
      answers?.startsWith("session/new") ||
      answers?.startsWith("session/load") ||
      answers?.startsWith("session/resume");
    if (isKept) this.keep(line);
  }

  /** A line of the turn in hand, or of none. */
  keep(line: Json): void {
    if (this.#turn) this.#turn.line(line);
    else this.note(line);
  }

  /** Another process takes over: what nobody took stays in the log as it came. */
  forget(): void {
    for (const { line } of this.#strays.splice(0)) this.note(line);
  }

  /** Keeps a line that belongs to no turn. */
  note(line: Json): void {
    const noted = this.#it.host
      .record([lineOf(line)])
      .catch((error: unknown) => this.#failed(error));
    this.#noted = Promise.all([this.#noted, noted]);
  }

  /** A host that goes refuses; what cannot be written may not go on unseen. */
  #failed(error: unknown): void {
    this.#it.report(error);
    if (!Fault.is(error)) this.#it.unwritable();
  }

  /** Settles when the lines that belong to no turn are durable, or cannot be. */
  async noted(): Promise<void> {
    await this.#noted;
  }

  #tell(turn: Turn, update: Update | undefined, line: Json): void {
    turn.update(update, line);
    if (update?.sessionUpdate !== "tool_call_update") return;
    if (update.status === "completed" || update.status === "failed")
      this.#it.asks.callEnded(update.toolCallId);
  }

  #learn(update: Update): void {
    this.#it.choices.heard(update);
    if (update.sessionUpdate === "available_commands_update")
      this.commands = (update.availableCommands ?? []).map(({ name }) => name);
    if (update.sessionUpdate !== "usage_update" || update.cost?.currency !== "USD") return;
    const { amount } = update.cost;
    if (this.#costSoFar !== undefined && amount > this.#costSoFar)
      this.#turn?.addUsage({ ...noUsage, cost: amount - this.#costSoFar });
    this.#costSoFar = Math.max(amount, this.#costSoFar ?? 0);
  }

  #open(): PromiseWithResolvers<Turn> {
    if (this.#outside) return this.#outside;
    const wanted = Promise.withResolvers<Turn>();
    wanted.promise.catch(() => {});
    this.#outside = wanted;
    void this.#openRun(wanted);
    return wanted;
  }

  async #openRun(wanted: PromiseWithResolvers<Turn>): Promise<void> {
    const source = this.facts?.name ?? "acp";
    try {
      await this.#it.host.outside({ source, text: "" });
    } catch (error) {
      if (this.#outside !== wanted) return;
      // A run is live: its next turn takes what has come, or there is none.
      if (Fault.is(error) && error.code === "busy" && !this.gone) {
        this.#it.after(retryMs, () => {
          if (this.#outside === wanted) void this.#openRun(wanted);
        });
        return;
      }
      this.#failed(error);
      this.#outside = undefined;
      wanted.reject(error);
      this.forget();
    }
  }
}

function isSpeech({ sessionUpdate }: Update): boolean {
  return (
    sessionUpdate === "agent_message_chunk" ||
    sessionUpdate === "agent_thought_chunk" ||
    sessionUpdate === "tool_call"
  );
}
