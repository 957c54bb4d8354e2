// The calls of a run: the order around each, and what became of it in an earlier process.
//
//   Q12  approval.asked, approval.answered, durable call.started, the effect, message.tool: in this order.
//   Q13  A recorded outcome is used without running or asking again.
//   Q16  A call runs at most once at a time, however often its engine hands it in.
//   R2   A call left open by another process runs again only where it is `read` or replay-safe.

import { canonicalJson, type EntryData, type JsonObject, noUsage } from "@lichen/wire";
import type { Answer, Call, Outcome } from "../engine/port.ts";
import type { Program } from "../engine/program.ts";
import { entryRow } from "../log/entry-log.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { restore } from "../log/spill.ts";
import { eidOfId } from "../log/transcript.ts";
import { countStep } from "../queue/command-table.ts";
import { interruptedOutcome } from "../queue/settle.ts";
import { eidOf, seqOf, sidOf } from "../store/keys.ts";
import { callRow, insertCall, markOutcome } from "./call-table.ts";
import { mayRepeat, refusalText } from "./call-rules.ts";
import type { CallingRun } from "./calling-run.ts";
import { outcomeData } from "./draft.ts";
import { outcomeOf } from "./outcome.ts";
import { LiveProgram } from "./program.ts";
import { endProgram } from "./program-end.ts";

type Effect = (input: JsonObject, signal: AbortSignal) => Promise<Outcome>;

export class Calls {
  readonly #run: CallingRun;
  /** Calls that run, or wait for their approval, in this process. */
  readonly #inHand = new Set<string>();
  readonly #programs = new Map<string, Program>();
  /** Ends of the calls whose effects run; a program's own calls count in its place. */
  readonly #atWork = new Map<string, () => void>();

  constructor(run: CallingRun) {
    this.#run = run;
  }

  async call(call: Call, effect: Effect): Promise<Outcome> {
    const assistant = this.#assistantOf(call);
    const name = nameOf(call);
    if (this.#inHand.has(name)) throw new Error(`call ${name} runs already`);
    this.#inHand.add(name);
    try {
      return await this.#goThrough(call, assistant, effect);
    } finally {
      this.#inHand.delete(name);
      this.#programs.delete(name);
    }
  }

  hasBegun(call: { readonly assistant: string; readonly index: number }): boolean {
    const known = callRow(this.#run.ground.sql, this.#assistantOf(call), call.index);
    return known !== undefined && known.started !== null;
  }

  /** The journal of a call that runs in this process: the same one, however often it is asked for. */
  async program(call: { readonly assistant: string; readonly index: number }): Promise<Program> {
    const name = nameOf(call);
    const known = this.#programs.get(name);
    if (known) return known;
    if (!this.#inHand.has(name))
      throw new Error(`call ${name} does not run: only a call that does can be a program`);
    const program = new LiveProgram(this.#run, call, this.#assistantOf(call));
    this.#programs.set(name, program);
    this.#atWork.get(name)?.();
    await this.#run.ground.writer.pending();
    return program;
  }

  #assistantOf({ assistant }: { readonly assistant: string }): number {
    const eid = eidOfId(this.#run.ground.sql, assistant);
    if (eid === undefined) throw new Error(`no assistant entry ${assistant}`);
    return eid;
  }

  async #goThrough(call: Call, assistant: number, effect: Effect): Promise<Outcome> {
    const { sql } = this.#run.ground;
    const known = callRow(sql, assistant, call.index);
    if (known?.outcome) return outcomeOf(sql, known.outcome, this.#run.blob);
    let { input } = call;
    if (known?.started) {
      if (!mayRepeat(known, call)) return this.#interrupted(call, assistant);
      const started = JSON.parse(entryRow(sql, known.started)!.data) as JsonObject;
      const whole = restore(started, this.#run.blob) as EntryData["call.started"];
      input = whole.input ?? input;
    } else {
      if (call.confirm) {
        const answer = await this.#ask(call);
        if (answer.outcome !== "allowed") return this.#refused(call, assistant, answer);
        input = answer.input ?? input;
      }
      await this.#intend(call, assistant, input);
    }
    return this.#perform(call, assistant, input, effect);
  }

  #ask(call: Call): Promise<Answer> {
    const description = call.confirm?.description;
    return this.#run.ask({
      key: nameOf(call),
      kind: "tool",
      assistant: call.assistant,
      index: call.index,
      tool: call.name,
      input: call.input,
      check: call.check,
      ...(description === undefined ? {} : { description }),
    });
  }

  async #intend(call: Call, assistant: number, input: JsonObject): Promise<void> {
    const { cid, ground, signal } = this.#run;
    signal.throwIfAborted();
    await this.#run.write((session) => {
      const started = session.append({
        kind: "call.started",
        command: seqOf(cid),
        data: {
          assistant: call.assistant,
          index: call.index,
          callId: call.callId,
          name: call.name,
          label: call.label,
          replaySafe: call.replaySafe,
          digest: ground.platform.sha256(canonicalJson(input)),
          ...(input === call.input ? {} : { input }),
        },
      });
      insertCall(ground.sql, {
        assistant,
        position: call.index,
        cid,
        label: call.label,
        replay_safe: call.replaySafe ? 1 : 0,
        started: eidOf(session.row.sid, started.seq),
        outcome: null,
      });
      countStep(ground.sql, cid, { calls: 1, usage: noUsage });
    });
    signal.throwIfAborted();
  }

  async #perform(
    call: Call,
    assistant: number,
    input: JsonObject,
    effect: Effect,
  ): Promise<Outcome> {
    const { signal } = this.#run;
    const ended = this.#run.works();
    this.#atWork.set(nameOf(call), ended);
    try {
      let outcome: Outcome;
      try {
        outcome = await effect(input, signal);
      } catch (error) {
        // A stop leaves the call open: recovery or settlement says what is known of its effect.
        if (signal.aborted) throw error;
        outcome = textOutcome(error instanceof Error ? error.message : String(error));
      }
      await this.#recordOutcome(call, assistant, outcome);
      return outcome;
    } finally {
      this.#atWork.delete(nameOf(call));
      ended();
    }
  }

  async #refused(call: Call, assistant: number, answer: Answer): Promise<Outcome> {
    const outcome = textOutcome(refusalText(answer));
    await this.#recordOutcome(call, assistant, outcome);
    return outcome;
  }

  async #interrupted(call: Call, assistant: number): Promise<Outcome> {
    const data = interruptedOutcome(call);
    await this.#record(call, assistant, () => data);
    return { content: data.content as Outcome["content"], isError: true };
  }

  #recordOutcome(call: Call, assistant: number, outcome: Outcome): Promise<void> {
    const { ground, cid } = this.#run;
    void ground.texts.store(sidOf(cid), outcome.content);
    return this.#record(call, assistant, (session) => outcomeData(ground, session, call, outcome));
  }

  async #record(
    call: Call,
    assistant: number,
    data: (session: SessionWriter) => EntryData["message.tool"],
  ): Promise<void> {
    const { cid, ground, approvals } = this.#run;
    const { sql } = ground;
    await this.#run.write((session, tx) => {
      approvals.endCall(tx, session, cid, nameOf(call));
      endProgram(sql, session, { assistant, position: call.index, cid });
      const entry = session.append({
        kind: "message.tool",
        command: seqOf(cid),
        data: data(session),
      });
      this.#run.stored(tx, entry.seq, call.index);
      const outcome = eidOf(session.row.sid, entry.seq);
      if (callRow(sql, assistant, call.index)) markOutcome(sql, assistant, call.index, outcome);
      else
        insertCall(sql, {
          assistant,
          position: call.index,
          cid,
          label: call.label,
          replay_safe: call.replaySafe ? 1 : 0,
          started: null,
          outcome,
        });
      countStep(sql, cid, { calls: 0, usage: noUsage });
    });
  }
}

function nameOf(call: { readonly assistant: string; readonly index: number }): string {
  return `${call.assistant}/${call.index}`;
}

function textOutcome(text: string): Outcome {
  return { content: [{ type: "text", text }], isError: true };
}
