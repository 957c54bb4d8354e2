// A live run: what one engine holds while it executes one command, and the order around its tool calls.
//
//   Q12  approval.asked, approval.answered, durable call.started, the effect, message.tool: in this order.
//   Q13  A recorded outcome is used without running or asking again.
//   Q14  A failed commit fires the run's abort signal, since sibling calls would go on.
//   Q16  A call runs at most once at a time, however often its engine hands it in.
//   R2   A call left open by another process runs again only where it is `read` or replay-safe.

import {
  canonicalJson,
  type EntryData,
  type EntryOf,
  Fault,
  noUsage,
  type JsonObject,
  type Partial,
  type Usage,
} from "@lichen/wire";
import type { Answer, Call, Draft, Outcome, Question, Run, Steer } from "../engine/port.ts";
import type { TranscriptEntry } from "../engine/port.ts";
import { sessionBlob } from "../log/session-blob.ts";
import { entryRow, metaOf } from "../log/entry-log.ts";
import { type SessionRow, sessionBySid, type SessionWriter } from "../log/session-row.ts";
import { eidOfId, transcript, transcriptEntry } from "../log/transcript.ts";
import { restore } from "../log/spill.ts";
import {
  commandRow,
  type CommandRow,
  countStep,
  countUsage,
  markJoined,
  queuedCommands,
} from "../queue/command-table.ts";
import type { Sessions } from "../queue/sessions.ts";
import { interruptedOutcome } from "../queue/settle.ts";
import { activatedTools } from "../session/settings.ts";
import { eidOf, idOf, parseId, seqOf, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import type { Tx } from "../store/writer.ts";
import type { Approvals } from "./approvals.ts";
import { callRow, insertCall, markOutcome } from "./call-table.ts";
import { outcomeData, writeDraft } from "./draft.ts";
import { outcomeOf } from "./outcome.ts";
import { type Streamed, Streaming } from "./streaming.ts";

/** Why a run's signal fired. */
export type StopReason = "cancelled" | "drained" | "deleted" | "unwritable";

/** What a live run asks of the coordinator. */
export interface RunHouse {
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  /** A person is waited for: the run gives its place among the running ones to others, and takes it back. */
  rest(): () => void;
  partialChanged(sid: number): void;
}

export class LiveRun implements Run {
  readonly agent: string;
  readonly session: string;
  readonly epoch: string;
  readonly commandId: string;
  readonly cid: number;
  readonly signal: AbortSignal;
  readonly #house: RunHouse;
  readonly #abort = new AbortController();
  /** Calls that run, or wait for their approval, in this process. */
  readonly #inHand = new Set<string>();
  readonly #streaming: Streaming;
  #stopped: StopReason | undefined;
  #cause: unknown;
  #isOver = false;
  #waiting = 0;
  #takePlaceBack: (() => void) | undefined;
  /** What arrived since the engine last took steers: whether a steer is queued, and lines by `seq`. */
  #hasSteers = false;
  #lines: number[] = [];

  constructor(house: RunHouse, row: SessionRow, cid: number) {
    this.#house = house;
    this.cid = cid;
    this.agent = row.info.agent;
    this.session = row.id;
    this.epoch = row.epoch;
    this.commandId = idOf("cmd", row.key, seqOf(cid));
    this.signal = this.#abort.signal;
    // The row may be older than what the transaction of the run's beginning wrote.
    const { info } = sessionBySid(this.#sql, row.sid) ?? row;
    this.#streaming = new Streaming(this.commandId, info.head, () => house.partialChanged(row.sid));
  }

  get currentPartial(): Partial | undefined {
    return this.#streaming.shown;
  }

  /** The run's beginning is durable: what it streams may be seen. */
  show(): void {
    this.#streaming.show();
  }

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  /** The failed commit that stopped it. */
  get cause(): unknown {
    return this.#cause;
  }

  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  stop(reason: StopReason, cause?: unknown): void {
    this.#cause ??= cause;
    if (this.#stopped === undefined || reason === "deleted") this.#stopped = reason;
    this.#abort.abort(new Fault("unavailable", `The run was stopped: ${reason}.`));
  }

  /** The command has ended: whatever the engine still writes is refused, whatever it still waits for is over. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#returnToPlace();
    this.#abort.abort(this.#ended());
  }

  noteSteer(): void {
    this.#hasSteers = true;
  }

  noteLine(seq: number): void {
    this.#lines.push(seq);
  }

  settings(): ReturnType<Run["settings"]> {
    const row = this.#row();
    return {
      ...(row.info.model === undefined ? {} : { model: row.info.model }),
      ...(row.info.reasoning === undefined ? {} : { reasoning: row.info.reasoning }),
      tools: activatedTools(this.#sql, row.sid),
    };
  }

  transcript(): TranscriptEntry[] {
    return transcript(this.#sql, this.#row().leaf);
  }

  blob(sha256: string): Uint8Array | undefined {
    return sessionBlob(this.#sql, this.#place(), sha256)?.bytes;
  }

  async append(drafts: readonly Draft[]): Promise<EntryOf<Draft["kind"]>[]> {
    const entries = await this.#write((session, tx) => {
      return drafts.map((draft) => {
        const entry = writeDraft(this.#house.sessions.ground, session, this.cid, draft);
        if (draft.kind === "message.assistant") this.#streaming.stored(tx, entry.seq);
        if (draft.kind === "message.tool") this.#streaming.stored(tx, entry.seq, draft.data.index);
        return entry;
      });
    });
    return entries as EntryOf<Draft["kind"]>[];
  }

  partial(partial: Streamed): void {
    if (!this.#isOver) this.#streaming.take(partial);
  }

  async call(
    call: Call,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    const assistant = eidOfId(this.#sql, call.assistant);
    if (assistant === undefined) throw new Error(`no assistant entry ${call.assistant}`);
    const name = `${call.assistant}/${call.index}`;
    if (this.#inHand.has(name)) throw new Error(`call ${name} runs already`);
    this.#inHand.add(name);
    try {
      return await this.#goThrough(call, name, assistant, effect);
    } finally {
      this.#inHand.delete(name);
    }
  }

  async #goThrough(
    call: Call,
    name: string,
    assistant: number,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    const known = callRow(this.#sql, assistant, call.index);
    if (known?.outcome) return outcomeOf(this.#sql, known.outcome, this.#blobText);
    let { input } = call;
    if (known?.started) {
      const mayRepeat =
        (known.label === "read" && call.label === "read") ||
        (known.replay_safe === 1 && call.replaySafe);
      if (!mayRepeat) return this.#interrupted(call, assistant);
      const started = JSON.parse(entryRow(this.#sql, known.started)!.data) as JsonObject;
      const whole = restore(started, this.#blobText) as EntryData["call.started"];
      input = whole.input ?? input;
    } else {
      if (call.confirm) {
        const answer = await this.#askForCall(call, name);
        if (answer.outcome !== "allowed") return this.#refused(call, answer);
        input = answer.input ?? input;
      }
      await this.#intend(call, assistant, input);
    }
    return this.#run(call, assistant, input, effect);
  }

  #askForCall(call: Call, name: string): Promise<Answer> {
    const description = call.confirm?.description;
    return this.ask({
      key: name,
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
    const { platform } = this.#house.sessions.ground;
    this.signal.throwIfAborted();
    await this.#write((session) => {
      const started = session.append({
        kind: "call.started",
        command: seqOf(this.cid),
        data: {
          assistant: call.assistant,
          index: call.index,
          callId: call.callId,
          name: call.name,
          label: call.label,
          replaySafe: call.replaySafe,
          digest: platform.sha256(canonicalJson(input)),
          ...(input === call.input ? {} : { input }),
        },
      });
      insertCall(this.#sql, {
        assistant,
        position: call.index,
        cid: this.cid,
        label: call.label,
        replay_safe: call.replaySafe ? 1 : 0,
        started: eidOf(session.row.sid, started.seq),
        outcome: null,
      });
      countStep(this.#sql, this.cid, { calls: 1, usage: noUsage });
    });
    this.signal.throwIfAborted();
  }

  async #run(
    call: Call,
    assistant: number,
    input: JsonObject,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    let outcome: Outcome;
    try {
      outcome = await effect(input, this.signal);
    } catch (error) {
      // A stop leaves the call open: recovery or settlement says what is known of its effect.
      if (this.signal.aborted) throw error;
      outcome = textOutcome(error instanceof Error ? error.message : String(error));
    }
    await this.#record(call, assistant, (session) =>
      outcomeData(this.#house.sessions.ground, session, call, outcome),
    );
    return outcome;
  }

  async #refused(call: Call, answer: Answer): Promise<Outcome> {
    const said = answer.message ? `: ${answer.message}` : ".";
    const outcome = textOutcome(
      answer.outcome === "denied"
        ? `A person denied this call${said}`
        : `This call was not allowed: its approval was ${answer.outcome}. It did not run.`,
    );
    const assistant = eidOfId(this.#sql, call.assistant)!;
    await this.#record(call, assistant, (session) =>
      outcomeData(this.#house.sessions.ground, session, call, outcome),
    );
    return outcome;
  }

  async #interrupted(call: Call, assistant: number): Promise<Outcome> {
    const data = interruptedOutcome(call);
    await this.#record(call, assistant, () => data);
    return { content: data.content as Outcome["content"], isError: true };
  }

  async #record(
    call: Call,
    assistant: number,
    data: (session: SessionWriter) => EntryData["message.tool"],
  ): Promise<void> {
    await this.#write((session, tx) => {
      const name = `${call.assistant}/${call.index}`;
      this.#house.approvals.endCall(tx, session, this.cid, name);
      const entry = session.append({
        kind: "message.tool",
        command: seqOf(this.cid),
        data: data(session),
      });
      this.#streaming.stored(tx, entry.seq, call.index);
      const outcome = eidOf(session.row.sid, entry.seq);
      if (callRow(this.#sql, assistant, call.index))
        markOutcome(this.#sql, assistant, call.index, outcome);
      else
        insertCall(this.#sql, {
          assistant,
          position: call.index,
          cid: this.cid,
          label: call.label,
          replay_safe: call.replaySafe ? 1 : 0,
          started: null,
          outcome,
        });
      countStep(this.#sql, this.cid, { calls: 0, usage: noUsage });
    });
  }

  async ask(question: Question): Promise<Answer> {
    this.#guard();
    return this.#house.approvals.ask(question, {
      cid: this.cid,
      signal: this.signal,
      write: (body) => this.#write(body),
      rest: () => this.#rest(),
    });
  }

  /** Gives the run's place to others until the last of its questions is decided. */
  #rest(): () => void {
    if (this.#waiting++ === 0) this.#takePlaceBack = this.#house.rest();
    return () => {
      if (--this.#waiting === 0) this.#returnToPlace();
    };
  }

  #returnToPlace(): void {
    this.#takePlaceBack?.();
    this.#takePlaceBack = undefined;
  }

  withdrawQuestion(key: string, reason: string): Promise<void> {
    return this.#house.approvals.withdraw(this.cid, key, reason);
  }

  async steers(): Promise<Steer[]> {
    if (!this.#hasSteers && this.#lines.length === 0) return [];
    this.#guard();
    this.#hasSteers = false;
    const sid = sidOf(this.cid);
    const lines = this.#lines.splice(0);
    const joined = await this.#write((session) =>
      queuedCommands(this.#sql, sid)
        .filter((command) => command.delivery === "steer")
        .map((command) => joinSteer(this.#sql, session, command, this)),
    );
    return [...lines, ...joined].map((seq) => transcriptEntry(this.#sql, eidOf(sid, seq)) as Steer);
  }

  addUsage(usage: Usage): void {
    void this.#write(() => countUsage(this.#sql, this.cid, usage)).catch(() => {
      // The failed commit has stopped the run already.
    });
  }

  get #sql(): Sql {
    return this.#house.sessions.ground.sql;
  }

  readonly #blobText = (sha256: string): Uint8Array | undefined => this.blob(sha256);

  #row(): SessionRow {
    const row = sessionBySid(this.#sql, sidOf(this.cid));
    if (!row) throw new Fault("closed", `Session ${this.session} was deleted.`);
    return row;
  }

  #place(): { sid: number; key: string } {
    return { sid: sidOf(this.cid), key: parseId("cmd", this.commandId)!.key };
  }

  #guard(): void {
    if (this.#isOver) throw this.#ended();
  }

  #ended(): Fault {
    return new Fault("stale", `Command ${this.commandId} is settled: its run can write no more.`);
  }

  async #write<T>(body: (session: SessionWriter, tx: Tx) => T): Promise<T> {
    this.#guard();
    try {
      return await this.#house.sessions.write(sidOf(this.cid), (tx, session) => {
        // The settlement may stand in this very group, long before anybody is told of it.
        if (commandRow(this.#sql, this.cid)?.state !== "running") throw this.#ended();
        return body(session, tx);
      });
    } catch (error) {
      if (!this.#isOver) this.stop("unwritable", error);
      throw error;
    }
  }
}

/** A steer becomes a message of the run; answers its `seq`. */
function joinSteer(
  sql: Sql,
  session: SessionWriter,
  command: CommandRow,
  run: { readonly cid: number; readonly commandId: string },
): number {
  const queued = JSON.parse(entryRow(sql, command.cid)!.data) as EntryData["command.queued"];
  const entry = session.append({
    kind: "message.user",
    command: seqOf(command.cid),
    requestId: command.request ?? undefined,
    by: command.identity ?? undefined,
    meta: metaOf(sql, command.cid),
    data: {
      text: queued.text,
      steers: run.commandId,
      ...(queued.images ? { images: queued.images } : {}),
    },
  });
  markJoined(sql, command.cid, run.cid);
  return entry.seq;
}

function textOutcome(text: string): Outcome {
  return { content: [{ type: "text", text }], isError: true };
}
