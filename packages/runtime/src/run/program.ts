// A live program: the calls that one running call makes, each through the whole order of calls, known by its ordinal.
//
//   J1  A call's intent is durable before its effect, its outcome before the program has it.
//   J2  A recorded outcome is returned without running or asking again; `order` is the order of the outcomes in the log.
//   J3  What asks for something else than the record of its ordinal holds is `diverged`, and runs nothing.
//   J4  A call left open by another process runs again only where it is `read` or replay-safe.
//   J12 What its code can name is written with its beginning, and is the same in every process.

import {
  canonicalJson,
  type EntryData,
  Fault,
  type Json,
  type JsonObject,
  noUsage,
  textOf,
} from "@lichen/wire";
import type { Answer } from "../engine/port.ts";
import type {
  Program,
  ProgramCall,
  ProgramNames,
  ProgramOutcome,
  ProgramRecord,
  ProgramSnapshot,
} from "../engine/program.ts";
import { entryRow } from "../log/entry-log.ts";
import { putBlob } from "../log/blob.ts";
import { restore, textType } from "../log/spill.ts";
import { countStep } from "../queue/command-table.ts";
import { eidOf, seqOf } from "../store/keys.ts";
import { approvalNamed, askedAbout, askedCalls } from "./approval-table.ts";
import { callRow } from "./call-table.ts";
import type { CallingRun, Write } from "./calling-run.ts";
import { mayRepeat, refusalText } from "./call-rules.ts";
import { interruptedOutcome } from "./program-end.ts";
import { checkSnapshot, keepSnapshot, readSnapshot } from "./program-snapshot.ts";
import {
  insertProgram,
  insertProgramCall,
  markProgramOutcome,
  type ProgramCallRow,
  programCallRow,
  programCalls,
  type ProgramKey,
  programRow,
  recordedOrder,
} from "./program-table.ts";

type Effect = Parameters<Program["call"]>[1];
type OutcomeData = EntryData["program.outcome"];

/** Up to this length names stand in the log itself. */
const shortNames = 1_024;
/** Of an answer that a program gets. */
const mostLevels = 512;
/** The code of what failed without one. */
const failed = "failed";

export class LiveProgram implements Program {
  readonly seed: string;
  readonly startedAt: number;
  readonly #run: CallingRun;
  readonly #key: ProgramKey;
  /** The program's own call, as entries name it. */
  readonly #place: { readonly assistant: string; readonly index: number };
  readonly #order: number[] = [];
  readonly #recordedAt = new Map<number, number>();
  readonly #inHand = new Set<number>();
  /** As JSON. */
  #names: string | undefined;

  constructor(
    run: CallingRun,
    { assistant, index }: { readonly assistant: string; readonly index: number },
    eid: number,
  ) {
    this.#run = run;
    this.#key = { assistant: eid, position: index };
    this.#place = { assistant, index };
    const { sql, platform } = run.ground;
    const begun = callRow(sql, eid, index)?.started;
    if (!begun) throw new Error(`call ${assistant}/${index} has no intent`);
    this.startedAt = entryRow(sql, begun)!.at;
    const known = programRow(sql, this.#key);
    this.seed = known
      ? (JSON.parse(entryRow(sql, known.started)!.data) as EntryData["program.started"]).seed
      : platform.sha256(platform.randomId(64));
    for (const { ordinal, at } of recordedOrder(sql, this.#key)) this.#note(ordinal, at);
  }

  get order(): readonly number[] {
    return this.#order;
  }

  recordedAt(ordinal: number): number {
    const at = this.#recordedAt.get(ordinal);
    if (at === undefined) throw new Error(`call ${ordinal} of the program has no outcome`);
    return at;
  }

  names(now: ProgramNames): ProgramNames {
    const known = programRow(this.#run.ground.sql, this.#key);
    if (!known) {
      this.#names = JSON.stringify(now);
      return now;
    }
    const { names } = this.#read<EntryData["program.started"]>(known.started);
    return typeof names === "string" ? (JSON.parse(names) as ProgramNames) : now;
  }

  calls(): ProgramRecord[] {
    const { sql } = this.#run.ground;
    const records = new Map<number, ProgramRecord>();
    for (const { ordinal, operation } of askedCalls(sql, this.#run.cid, this.#nameOf("")))
      records.set(ordinal, { ordinal, operation });
    for (const { ordinal, operation, outcome } of programCalls(sql, this.#key))
      records.set(ordinal, {
        ...{ ordinal, operation },
        ...(outcome === null ? {} : { outcome: outcomeOf(this.#read<OutcomeData>(outcome)) }),
      });
    return [...records.values()].sort((a, b) => a.ordinal - b.ordinal);
  }

  snapshot(): ProgramSnapshot | undefined {
    const { sql } = this.#run.ground;
    const row = programRow(sql, this.#key);
    return row && readSnapshot(sql, row);
  }

  async save(snapshot: ProgramSnapshot): Promise<void> {
    checkSnapshot(snapshot);
    await this.#write(() => keepSnapshot(this.#run.ground.sql, this.#key, snapshot));
  }

  async call(call: ProgramCall, effect: Effect): Promise<ProgramOutcome> {
    const { ordinal } = call;
    if (this.#inHand.has(ordinal)) throw new Error(`call ${ordinal} of the program runs already`);
    this.#inHand.add(ordinal);
    try {
      return await this.#goThrough(call, effect);
    } finally {
      this.#inHand.delete(ordinal);
    }
  }

  async #goThrough(call: ProgramCall, effect: Effect): Promise<ProgramOutcome> {
    const { sql, platform } = this.#run.ground;
    const digest = platform.sha256(canonicalJson(call.input));
    const known = programCallRow(sql, this.#key, call.ordinal);
    if (known) checkSame(call, digest, known);
    if (known?.outcome) return outcomeOf(this.#read<OutcomeData>(known.outcome));
    if (known) {
      if (!mayRepeat(known, call))
        return this.#record(call, digest, interruptedOutcome(call), { interrupted: true });
      const { input } = this.#read<EntryData["program.call"]>(known.started!);
      return this.#perform(call, digest, input, effect);
    }
    this.#checkAsked(call, digest);
    let { input } = call;
    if (call.confirm) {
      const answer = await this.#ask(call);
      if (answer.outcome !== "allowed")
        return this.#record(call, digest, {
          ok: false,
          code: answer.outcome === "expired" ? "expired" : "denied",
          message: refusalText(answer),
        });
      input = answer.input ?? input;
    }
    await this.#intend(call, digest, input);
    return this.#perform(call, digest, input, effect);
  }

  #nameOf(ordinal: number | ""): string {
    const { assistant, index } = this.#place;
    return `${assistant}/${index}/program/${ordinal}`;
  }

  /** A person may have been asked about another call here, in an earlier process. */
  #checkAsked(call: ProgramCall, digest: string): void {
    const { sql } = this.#run.ground;
    const approval = approvalNamed(sql, this.#run.cid, this.#nameOf(call.ordinal));
    if (!approval) return;
    const asked = askedAbout(sql, approval.asked);
    checkSame(call, digest, { operation: asked.tool ?? "", digest: asked.digest });
  }

  #ask(call: ProgramCall): Promise<Answer> {
    const description = call.confirm?.description;
    return this.#run.ask(
      {
        key: this.#nameOf(call.ordinal),
        kind: "tool",
        ...this.#place,
        ordinal: call.ordinal,
        tool: call.operation,
        input: call.input,
        check: call.check,
        ...(description === undefined ? {} : { description }),
      },
      { write: (body) => this.#write(body), waits: call.waits },
    );
  }

  async #intend(call: ProgramCall, digest: string, input: JsonObject): Promise<void> {
    const { cid, ground, signal } = this.#run;
    const { ordinal, operation, capability, label, replaySafe } = call;
    signal.throwIfAborted();
    await this.#write((session) => {
      const entry = session.append({
        kind: "program.call",
        command: seqOf(cid),
        data: {
          ...this.#place,
          ...{ ordinal, operation, capability, label, replaySafe, digest, input },
        },
      });
      const started = eidOf(session.row.sid, entry.seq);
      this.#insert(call, digest, { started, outcome: null });
      countStep(ground.sql, cid, { calls: 1, usage: noUsage });
    });
  }

  async #perform(
    call: ProgramCall,
    digest: string,
    input: JsonObject,
    effect: Effect,
  ): Promise<ProgramOutcome> {
    const ended = this.#run.works();
    try {
      return await this.#record(call, digest, await this.#outcomeOf(call, input, effect));
    } finally {
      ended();
    }
  }

  async #outcomeOf(
    { operation }: ProgramCall,
    input: JsonObject,
    effect: Effect,
  ): Promise<ProgramOutcome> {
    const { signal } = this.#run;
    signal.throwIfAborted();
    let value: Json | undefined;
    try {
      value = await effect(input, signal);
    } catch (error) {
      // A stop leaves the call open: recovery or settlement says what is known of its effect.
      if (signal.aborted) throw error;
      return { ok: false, code: codeOf(error), message: messageOf(error) };
    }
    try {
      // As it comes back from the log, so that a program is told the same in every process.
      return value === undefined ? { ok: true } : { ok: true, value: asRecorded(value) };
    } catch (error) {
      return {
        ok: false,
        code: "invalid_outcome",
        message: `${operation} ran to its end, and what it answered cannot be kept (${messageOf(error)}): check what it did before you repeat it.`,
      };
    }
  }

  async #record(
    call: ProgramCall,
    digest: string,
    outcome: ProgramOutcome,
    mark: Pick<OutcomeData, "interrupted"> = {},
  ): Promise<ProgramOutcome> {
    const { cid, ground } = this.#run;
    const { ordinal, operation } = call;
    await this.#write((session, tx) => {
      const known = programCallRow(ground.sql, this.#key, ordinal);
      const entry = session.append({
        kind: "program.outcome",
        command: seqOf(cid),
        data: {
          ...this.#place,
          ordinal,
          operation,
          ...(known ? {} : { digest }),
          ...outcome,
          ...mark,
        },
      });
      const eid = eidOf(session.row.sid, entry.seq);
      if (known) markProgramOutcome(ground.sql, this.#key, ordinal, eid);
      else this.#insert(call, digest, { started: null, outcome: eid });
      countStep(ground.sql, cid, { calls: 0, usage: noUsage });
      tx.after(() => this.#note(ordinal, tx.at));
    });
    return outcome;
  }

  /** The names for the log: many of them are kept once for all programs of a session that have the same. */
  #told(sid: number): Pick<EntryData["program.started"], "names"> {
    const names = this.#names;
    if (names === undefined) return {};
    if (names.length <= shortNames) return { names };
    const { sql, platform } = this.#run.ground;
    const bytes = new TextEncoder().encode(names);
    const blob = platform.sha256(bytes);
    putBlob(sql, sid, blob, textType, bytes);
    return { names: { blob, mimeType: textType, bytes: bytes.length } };
  }

  #note(ordinal: number, at: number): void {
    this.#recordedAt.set(ordinal, at);
    this.#order.push(ordinal);
  }

  #insert(
    { ordinal, operation, label, replaySafe }: ProgramCall,
    digest: string,
    { started, outcome }: Pick<ProgramCallRow, "started" | "outcome">,
  ): void {
    const { cid, ground } = this.#run;
    // What was refused ran nothing: the log says no more of it.
    const isRefused = started === null;
    insertProgramCall(ground.sql, {
      ...this.#key,
      ...{ ordinal, cid, operation, digest, started, outcome },
      label: isRefused ? "read" : label,
      replay_safe: isRefused || replaySafe ? 1 : 0,
    });
  }

  #read<T>(eid: number): T {
    const stored = JSON.parse(entryRow(this.#run.ground.sql, eid)!.data) as JsonObject;
    return restore(stored, this.#run.blob) as T;
  }

  // The program's beginning is written with its first commit, so that it costs none of its own.
  readonly #write: Write = async (body) => {
    const { cid, ground } = this.#run;
    const { sql } = ground;
    const written = await this.#run.write((session, tx) => {
      if (callRow(sql, this.#key.assistant, this.#key.position)?.outcome !== null) return undefined;
      if (!programRow(sql, this.#key)) {
        const entry = session.append({
          kind: "program.started",
          command: seqOf(cid),
          data: { ...this.#place, seed: this.seed, ...this.#told(session.row.sid) },
        });
        insertProgram(sql, { ...this.#key, cid, started: eidOf(session.row.sid, entry.seq) });
      }
      return { value: body(session, tx) };
    });
    if (!written)
      throw new Fault(
        "stale",
        "The program has ended: its call has an outcome, it can write no more.",
      );
    return written.value;
  };
}

function checkSame(
  { ordinal, operation }: ProgramCall,
  digest: string,
  known: { readonly operation: string; readonly digest: string },
): void {
  if (known.operation === operation && known.digest === digest) return;
  const other =
    known.operation === operation ? `${operation} with another input` : `${known.operation}`;
  throw new Fault(
    "diverged",
    `The program asked for ${operation} as its call ${ordinal}, where ${other} is on record: it did not take the same way as before, so it cannot go on. Run it again.`,
  );
}

/** The outcome in an entry whose long texts are whole again. */
function outcomeOf({ ok, value, code, message }: OutcomeData): ProgramOutcome {
  if (ok) return value === undefined ? { ok } : { ok, value };
  return { ok, code: code ?? failed, message: message === undefined ? "" : textOf(message) };
}

function asRecorded(value: Json): Json {
  const text = JSON.stringify(value);
  const recorded = JSON.parse(text) as Json;
  // Whether so deep a value can be written at all differs with the platform's stack.
  if (text.length > 2 * mostLevels && isDeeper(recorded, mostLevels))
    throw new Error(`it is nested more than ${mostLevels} levels deep`);
  return recorded;
}

/** Without recursion: it is asked of values of any depth. */
function isDeeper(value: Json, levels: number): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((one) =>
      one !== null && typeof one === "object" ? Object.values(one) : [],
    );
  }
  return false;
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && code !== "" ? code : failed;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
