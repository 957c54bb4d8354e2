// A live run: what one engine holds while it executes one command.
//
//   Q14  A failed commit fires the run's abort signal, since sibling calls would go on.

import type { Access } from "@lichen/capability";
import {
  type EntryData,
  type EntryOf,
  Fault,
  type Json,
  type JsonObject,
  type Partial,
  type Usage,
} from "@lichen/wire";
import type { Answer, Call, Draft, Outcome, Question, Run, Steer } from "../engine/port.ts";
import type { TranscriptEntry } from "../engine/port.ts";
import type { Program } from "../engine/program.ts";
import { harnessLines } from "../log/harness-lines.ts";
import type { LongTexts } from "../log/long-texts.ts";
import { sessionBlob } from "../log/session-blob.ts";
import { entryRow, metaOf } from "../log/entry-log.ts";
import { type SessionRow, sessionBySid, type SessionWriter } from "../log/session-row.ts";
import { transcript, transcriptEntry } from "../log/transcript.ts";
import {
  commandRow,
  type CommandRow,
  countUsage,
  markJoined,
  queuedCommands,
} from "../queue/command-table.ts";
import type { Sessions } from "../queue/sessions.ts";
import type { GrantBook } from "../session/grants.ts";
import { activatedTools } from "../session/settings.ts";
import { eidOf, idOf, parseId, seqOf, sidOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import type { Tx } from "../store/writer.ts";
import { isAskedAbout } from "./approval-table.ts";
import type { Approvals } from "./approvals.ts";
import type { CallingRun } from "./calling-run.ts";
import { Calls } from "./calls.ts";
import { writeDraft } from "./draft.ts";
import { type Streamed, Streaming } from "./streaming.ts";
import { Waiting } from "./waiting.ts";

/** Why a run's signal fired. */
export type StopReason = "cancelled" | "drained" | "deleted" | "unwritable";

/** What a live run asks of the coordinator. */
export interface RunHouse {
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  readonly grants: GrantBook;
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
  readonly #calls: Calls;
  readonly #streaming: Streaming;
  #stopped: StopReason | undefined;
  #cause: unknown;
  #isOver = false;
  #isReturned = false;
  readonly #waiting = new Waiting();
  #takePlaceBack: (() => void) | undefined;
  readonly #steered = new Set<() => void>();
  readonly #queuedBehind = new Set<() => void>();
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
    this.#calls = new Calls({
      cid,
      signal: this.signal,
      ground: house.sessions.ground,
      approvals: house.approvals,
      write: (body) => this.#write(body),
      ask: (question, how) => this.#ask(question, how),
      works: () => this.#waiting.call(),
      blob: (sha256) => this.blob(sha256),
      stored: (tx, seq, index) => this.#streaming.stored(tx, seq, index),
    });
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

  /** Settles when nothing of it can end before a person answers. */
  whenItOnlyWaits(): Promise<void> {
    return this.#waiting.whenAll();
  }

  /** The engine has said how it ended; what it began afterwards is no part of it. */
  get isReturned(): boolean {
    return this.#isReturned;
  }

  noteReturned(): void {
    this.#isReturned = true;
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
    this.#steered.clear();
    this.#queuedBehind.clear();
    this.#returnToPlace();
    this.#abort.abort(this.#ended());
  }

  hasQueuedSteer(): boolean {
    return queuedCommands(this.#sql, sidOf(this.cid)).some((it) => it.delivery === "steer");
  }

  /** A command was queued that is no steer. */
  noteQueued(): void {
    for (const arrived of this.#queuedBehind) arrived();
  }

  onQueued(arrived: () => void): () => void {
    const listener = (): void => arrived();
    if (!this.#isOver) this.#queuedBehind.add(listener);
    const waits = queuedCommands(this.#sql, sidOf(this.cid)).some((it) => it.delivery !== "steer");
    if (!this.#isOver && waits) listener();
    return () => void this.#queuedBehind.delete(listener);
  }

  noteSteer(): void {
    this.#hasSteers = true;
    for (const arrived of this.#steered) arrived();
  }

  noteLine(seq: number): void {
    this.#lines.push(seq);
    for (const arrived of this.#steered) arrived();
  }

  onSteer(arrived: () => void): () => void {
    // Each listener is one, however often the same function is given.
    const listener = (): void => arrived();
    if (!this.#isOver) this.#steered.add(listener);
    if (!this.#isOver && (this.#hasSteers || this.#lines.length > 0)) listener();
    return () => void this.#steered.delete(listener);
  }

  settings(): ReturnType<Run["settings"]> {
    const row = this.#row();
    const { model, reasoning, capabilities } = row.info;
    return {
      ...(model === undefined ? {} : { model }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(capabilities === undefined ? {} : { capabilities }),
      tools: activatedTools(this.#sql, row.sid),
    };
  }

  access(): Access {
    const { aid, sid } = this.#row();
    return this.#house.grants.access(aid, sid);
  }

  transcript(newest?: number): TranscriptEntry[] {
    return transcript(this.#sql, this.#row().leaf, newest);
  }

  lines(newest?: number): Json[] {
    return harnessLines(this.#sql, this.cid, newest);
  }

  blob(sha256: string): Uint8Array | undefined {
    return sessionBlob(this.#sql, this.#place(), sha256)?.bytes;
  }

  async append(drafts: readonly Draft[]): Promise<EntryOf<Draft["kind"]>[]> {
    void this.#texts.store(
      sidOf(this.cid),
      drafts.map(({ data }) => data),
    );
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
    return this.#calls.call(call, effect);
  }

  hasBegun(call: { readonly assistant: string; readonly index: number }): boolean {
    return this.#calls.hasBegun(call);
  }

  isUndecided(call: { readonly assistant: string; readonly index: number }): boolean {
    return !this.hasBegun(call) && isAskedAbout(this.#sql, this.cid, call);
  }

  program(call: { readonly assistant: string; readonly index: number }): Promise<Program> {
    return this.#calls.program(call);
  }

  ask(question: Question): Promise<Answer> {
    return this.#ask(question, undefined, true);
  }

  async #ask(
    question: Question,
    how: Parameters<CallingRun["ask"]>[1],
    inCall = false,
  ): Promise<Answer> {
    this.#guard();
    return this.#house.approvals.ask(question, {
      cid: this.cid,
      signal: this.signal,
      write: how?.write ?? ((body) => this.#write(body)),
      rest: () => {
        const stillWaits = [this.#rest(inCall), how?.waits?.()];
        return () => stillWaits.forEach((end) => end?.());
      },
    });
  }

  /** Gives the run's place to others until the last of its questions is decided. */
  #rest(inCall: boolean): () => void {
    if (!this.#waiting.isForPeople) this.#takePlaceBack = this.#house.rest();
    const end = this.#waiting.person(inCall);
    return () => {
      end();
      if (!this.#waiting.isForPeople) this.#returnToPlace();
    };
  }

  #returnToPlace(): void {
    this.#takePlaceBack?.();
    this.#takePlaceBack = undefined;
  }

  withdrawQuestion(
    key: string,
    reason: string,
    how: { isAskedAgain?: boolean } = {},
  ): Promise<void> {
    return this.#house.approvals.withdraw(this.cid, key, { reason, ...how });
  }

  withdrawQuestions(prefix: string, reason: string): Promise<void> {
    return this.#house.approvals.withdrawAll(this.cid, prefix, { reason });
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

  get #texts(): LongTexts {
    return this.#house.sessions.ground.texts;
  }

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
    const storing = this.#texts.store(sidOf(this.cid), []);
    if (storing) await storing;
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
