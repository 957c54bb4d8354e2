// The run coordinator: which commands run now, at most one per session and as many as there are places in the host.
//
//   queued ──claim──▶ running ──▶ settled          claimed in the admission's transaction where the session is idle
//      │                 │ ▲
//      │                 ▼ │ rest / return          a run that waits for a person gives its place to others
//      └──steer──▶ joined ┘
//
//   Q3  Of a store that is opened for one session, only that one's work runs; what others left stays as it is.
//   Q4  A run that does not end within 10 s of its cancellation is settled without it, and can write no more.
//   Q5  A settlement that could not be written (a full disk) is tried until it is.

import { type BlobRef, Fault, type JsonObject, Terminal, type WorkType } from "@lichen/wire";
import type { Connection, Engine, HarnessDraft, Result, Work } from "../engine/port.ts";
import { metaOf } from "../log/entry-log.ts";
import { type SessionRow, sessionBySid, type SessionWriter } from "../log/session-row.ts";
import { Approvals } from "../run/approvals.ts";
import { LiveRun, type RunHouse, type StopReason } from "../run/live-run.ts";
import { type AccessRules, GrantBook } from "../session/grants.ts";
import { eidOf, idOf, seqOf, sidOf } from "../store/keys.ts";
import { harnessState } from "../session/harness-table.ts";
import type { Sql } from "../store/sql.ts";
import type { Tx } from "../store/writer.ts";
import {
  commandRow,
  type CommandRow,
  insertCommand,
  markRunning,
  queuedCommands,
} from "./command-table.ts";
import { Places } from "./places.ts";
import { orphanedResult, recover } from "./recovery.ts";
import type { Sessions } from "./sessions.ts";
import { settleRun } from "./settle.ts";
import { workOf } from "./work.ts";

const graceMs = 10_000;
const firstRetryMs = 500;
const longestRetryMs = 30_000;

export interface AttachedEngine {
  readonly aid: number;
  readonly engine: Engine;
  /** The agent's own rules about calls of capabilities. */
  readonly access?: AccessRules | undefined;
}

export interface CoordinatorOptions {
  readonly capacity: number;
  readonly approvalTtlMs: number;
  /** The one session whose work runs here; all do where it is left out. */
  readonly only?: string | undefined;
  readonly partialChanged: (sid: number) => void;
}

export class Coordinator implements RunHouse {
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  readonly grants: GrantBook;
  readonly partialChanged: (sid: number) => void;
  readonly #places: Places;
  readonly #only: string | undefined;
  /** Runs of an earlier process that are left to the next one. */
  readonly #atRest = new Set<number>();
  readonly #engines = new Map<number, Engine>();
  readonly #connections = new Map<number, Connection>();
  readonly #live = new Map<number, LiveRun>();
  readonly #working = new Set<Promise<void>>();
  #draining = false;

  constructor(sessions: Sessions, options: CoordinatorOptions) {
    this.sessions = sessions;
    this.#only = options.only;
    this.#places = new Places(options.capacity, (to) =>
      this.#track("orphan" in to ? this.#resume(to.orphan) : this.#claimReady(to.sid)),
    );
    this.partialChanged = options.partialChanged;
    this.grants = new GrantBook(sessions);
    this.approvals = new Approvals(sessions, options.approvalTtlMs);
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Gives an agent's sessions their engine, and goes on with what an earlier process left. */
  attach(
    { aid, engine, access }: AttachedEngine,
    left: { running: number[]; queued: number[] },
  ): void {
    this.#engines.set(aid, engine);
    this.grants.attach(aid, access);
    const running = left.running.filter((cid) => this.#runsHere(sidOf(cid)));
    const queued = left.queued.filter((sid) => this.#runsHere(sid));
    for (const cid of left.running) if (!running.includes(cid)) this.#atRest.add(cid);
    this.#places.adopt({ running, queued });
  }

  #runsHere(sid: number): boolean {
    return this.#only === undefined || sessionBySid(this.#sql, sid)?.id === this.#only;
  }

  engineOf(aid: number): Engine | undefined {
    return this.#engines.get(aid);
  }

  liveRun(sid: number): LiveRun | undefined {
    return this.#live.get(sid);
  }

  runningCount(): number {
    return this.#live.size;
  }

  /** Writes an admitted command into the queue; answers its `seq`. */
  enqueue(tx: Tx, session: SessionWriter, queued: QueuedWork): number {
    const entry = session.append({
      kind: "command.queued",
      requestId: queued.requestId,
      meta: queued.meta,
      by: queued.identity,
      command: session.info.head + 1,
      data: {
        type: queued.type,
        text: queued.text,
        ...(queued.images?.length ? { images: queued.images } : {}),
        ...(queued.delivery ? { delivery: queued.delivery } : {}),
        ...(queued.source === undefined ? {} : { source: queued.source }),
      },
    });
    const { sid } = session.row;
    insertCommand(this.#sql, {
      cid: eidOf(sid, entry.seq),
      type: queued.type,
      delivery: queued.delivery ?? null,
      request: queued.requestId ?? null,
      identity: queued.identity ?? null,
    });
    if (queued.delivery === "steer") tx.after(() => this.#live.get(sid)?.noteSteer());
    this.claim(tx, session);
    return entry.seq;
  }

  /** Starts the session's oldest queued command inside `tx` where nothing runs in it and a place is free. */
  claim(tx: Tx, session: SessionWriter, holdsPlace = false): boolean {
    const { row } = session;
    const engine = this.#engines.get(row.aid);
    if (!engine || this.#draining || row.info.state !== "queued") return false;
    if (this.#only !== undefined && row.id !== this.#only) return false;
    if (!holdsPlace && this.#places.areFull) {
      tx.after(() => this.#places.wait(row.sid));
      return false;
    }
    const [next] = queuedCommands(this.#sql, row.sid, 1);
    if (!next) return false;
    if (!holdsPlace) tx.undo(this.#places.take());
    const work = this.#begin(session, next, engine);
    // An eager engine begins while the commit is being synced; nothing of it is shown before that is durable.
    if (engine.can.eager) tx.committed(() => this.#launch(row, next.cid, work, engine));
    else tx.after(() => this.#launch(row, next.cid, work, engine));
    // Sealed last, so that its entries are told first.
    tx.seal(() => tx.after(() => this.#runOf(next.cid)?.show()));
    return true;
  }

  /** The live run of this very command. */
  #runOf(cid: number): LiveRun | undefined {
    const run = this.#live.get(sidOf(cid));
    return run?.cid === cid ? run : undefined;
  }

  #begin(session: SessionWriter, command: CommandRow, engine: Engine): Work {
    const seq = seqOf(command.cid);
    const requestId = command.request ?? undefined;
    const work = workOf(this.sessions.ground, session.row, command, false);
    const started = session.append({
      kind: "run.started",
      command: seq,
      requestId,
      data: { type: command.type, engine: engine.name },
    });
    markRunning(this.#sql, command.cid, eidOf(session.row.sid, started.seq));
    if (command.type !== "compact" && (work.text !== "" || command.type === "prompt"))
      session.append({
        kind: "message.user",
        command: seq,
        requestId,
        by: command.identity ?? undefined,
        meta: metaOf(this.#sql, command.cid),
        data: { text: work.text, ...(work.images.length ? { images: [...work.images] } : {}) },
      });
    return work;
  }

  /** Stops a running command's engine; its settlement follows. */
  stopRun(cid: number, reason: StopReason): void {
    this.#runOf(cid)?.stop(reason);
  }

  /** A run of an earlier process that still waits for a place ends at once where it is cancelled. */
  endOrphan(tx: Tx, session: SessionWriter, cid: number): void {
    if (!this.#places.isOrphan(cid) && !this.#atRest.has(cid)) return;
    settleRun(this.sessions.ground, session, cid, { terminal: "cancelled" });
    tx.after(() => this.#places.wait(session.row.sid));
  }

  /** A session was deleted: its run ends without a word, its connection closes. */
  forget(sid: number): void {
    this.#places.forget(sid);
    const run = this.#live.get(sid);
    run?.stop("deleted");
    run?.end();
    this.#disconnect(sid);
  }

  rest(): () => void {
    return this.#places.lend();
  }

  async #claimReady(sid: number): Promise<void> {
    const claimed = await this.#patiently(() =>
      this.sessions.ground.writer.commit((tx) => {
        const row = sessionBySid(this.#sql, sid);
        return row !== undefined && this.claim(tx, this.sessions.writer(tx, row), true);
      }),
    );
    if (!claimed) this.#places.giveBack();
  }

  async #resume(cid: number): Promise<void> {
    const decided = await this.#patiently(() =>
      this.sessions.ground.writer.commit((tx) => {
        const row = sessionBySid(this.#sql, sidOf(cid));
        const engine = row && this.#engines.get(row.aid);
        if (!row || !engine || commandRow(this.#sql, cid)?.state !== "running") return false;
        const session = this.sessions.writer(tx, row);
        const verdict = recover(this.sessions.ground, session, cid, engine);
        if (verdict.goesOn) {
          const work = workOf(this.sessions.ground, row, verdict.command, true);
          tx.seal(() =>
            tx.after(() => {
              this.#launch(row, cid, work, engine);
              this.#runOf(cid)?.show();
            }),
          );
          return true;
        }
        settleRun(this.sessions.ground, session, cid, verdict.result);
        return this.#passOn(tx, session);
      }),
    );
    if (!decided) this.#places.giveBack();
  }

  #launch(row: SessionRow, cid: number, work: Work, engine: Engine): void {
    const run = new LiveRun(this, row, cid);
    this.#live.set(row.sid, run);
    // Steers that the earlier process did not come to wait for the run that goes on.
    if (work.resumed) run.noteSteer();
    if (this.#draining) this.#track(this.#leave(run));
    this.#track(this.#execute(row, run, work, engine));
  }

  async #execute(row: SessionRow, run: LiveRun, work: Work, engine: Engine): Promise<void> {
    const result = await this.#resultOf(row, run, work, engine);
    if (
      run.stopped === "deleted" ||
      (run.stopped === "drained" && result.terminal !== "completed")
    ) {
      this.#close(row.sid, run);
      this.#places.giveBack();
      return;
    }
    const passedOn = await this.#patiently(() => this.#settle(row.sid, run, result));
    this.#close(row.sid, run);
    if (!passedOn) this.#places.giveBack();
  }

  async #resultOf(row: SessionRow, run: LiveRun, work: Work, engine: Engine): Promise<Result> {
    const gaveUp = Promise.withResolvers<Result>();
    const { platform } = this.sessions.ground;
    let cancelTimer: (() => void) | undefined;
    const onStop = (): void => {
      cancelTimer = platform.after(graceMs, () => {
        run.end();
        gaveUp.resolve(late(this.#sql, run));
      });
    };
    run.signal.addEventListener("abort", onStop, { once: true });
    if (run.signal.aborted) onStop();
    const begun = (async () => this.#connection(row, engine).run(work, run))();
    try {
      const result = await Promise.race([begun, gaveUp.promise]);
      if (!Terminal.safeParse(result?.terminal).success)
        throw new Error("the engine ended a run without a result");
      return result;
    } catch (error) {
      if (run.stopped === "cancelled") return { terminal: "cancelled" };
      if (run.stopped === undefined) this.sessions.ground.platform.report(error);
      return orphanedResult(this.#sql, run.cid, failure(run, error));
    } finally {
      cancelTimer?.();
      run.signal.removeEventListener("abort", onStop);
    }
  }

  async #settle(sid: number, run: LiveRun, result: Result): Promise<boolean> {
    try {
      return await this.#write(sid, run, result);
    } catch (error) {
      if (Fault.is(error) || this.sessions.ground.writer.isLost) throw error;
      // Not the disk, then: what the engine handed in is nothing that can be written.
      this.sessions.ground.platform.report(error);
      return this.#write(sid, run, orphanedResult(this.#sql, run.cid, failure(run, error)));
    }
  }

  #write(sid: number, run: LiveRun, result: Result): Promise<boolean> {
    return this.sessions.ground.writer.commit((tx) => {
      const row = sessionBySid(this.#sql, sid);
      if (!row) return false;
      const session = this.sessions.writer(tx, row);
      settleRun(this.sessions.ground, session, run.cid, result);
      tx.after(() => this.#close(sid, run));
      return this.#passOn(tx, session);
    });
  }

  /** The place goes to the next command of the session, unless others wait for one or there are too many by now. */
  #passOn(tx: Tx, session: SessionWriter): boolean {
    if (!this.#places.areWanted) return this.claim(tx, session, true);
    const { sid } = session.row;
    if (session.info.state === "queued") tx.after(() => this.#places.queueUp(sid));
    return false;
  }

  #close(sid: number, run: LiveRun): void {
    run.end();
    if (this.#live.get(sid) !== run) return;
    this.#live.delete(sid);
    if (this.#connections.get(sid)?.stays !== true) this.#disconnect(sid);
  }

  #connection(row: SessionRow, engine: Engine): Connection {
    let connection = this.#connections.get(row.sid);
    if (!connection) {
      const address = { agent: row.info.agent, session: row.id, epoch: row.epoch };
      const { sid } = row;
      connection = engine.open(address, {
        outside: (opened) => this.#outside(sid, opened),
        record: (drafts) => this.#record(sid, drafts),
        harness: () => harnessState(this.#sql, sid),
      });
      this.#connections.set(row.sid, connection);
    }
    return connection;
  }

  #disconnect(sid: number): void {
    const connection = this.#connections.get(sid);
    this.#connections.delete(sid);
    if (connection) this.#track((async () => connection.close())());
  }

  #outside(sid: number, opened: { source: string; text: string }): Promise<{ commandId: string }> {
    return this.sessions.write(sid, (tx, session) => {
      const seq = this.enqueue(tx, session, { type: "outside", ...opened });
      return { commandId: idOf("cmd", session.row.key, seq) };
    });
  }

  #record(sid: number, drafts: readonly HarnessDraft[]): Promise<void> {
    return this.sessions.write(sid, (_tx, session) => {
      for (const { kind, data } of drafts) session.append({ kind, data });
    });
  }

  /** Tries a commit until it is written or this owner may write no more; a full disk can be emptied meanwhile. */
  async #patiently(commit: () => Promise<boolean>): Promise<boolean> {
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      try {
        return await commit();
      } catch (error) {
        const { platform, writer } = this.sessions.ground;
        if (writer.isLost) return false;
        platform.report(error);
        if (this.#draining || (Fault.is(error) && error.code === "stale")) return false;
        await new Promise<void>((resolve) => void platform.after(waitMs, resolve));
      }
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.sessions.ground.platform.report(error))
      .finally(() => this.#working.delete(tracked));
    this.#working.add(tracked);
  }

  /**
   * Stops claiming; lets runs end by themselves for `patienceMs`, then stops the rest and leaves them to recovery.
   * Runs that wait for a person are stopped at once.
   */
  async drain(patienceMs: number): Promise<void> {
    this.#draining = true;
    this.#places.close();
    this.approvals.stop();
    const live = [...this.#live.values()];
    await Promise.all(live.filter((run) => run.isWaiting).map((run) => this.#leave(run)));
    if (this.#live.size > 0 && patienceMs > 0) await this.#quiet(patienceMs);
    await Promise.all([...this.#live.values()].map((run) => this.#leave(run)));
    await this.#quiet(graceMs / 2);
    for (const sid of [...this.#connections.keys()]) this.#disconnect(sid);
  }

  async #leave(run: LiveRun): Promise<void> {
    try {
      await this.sessions.ground.writer.commit(() =>
        this.#sql.run("update command set drained = 1 where cid = ?", run.cid),
      );
    } catch (error) {
      this.sessions.ground.platform.report(error);
    }
    run.stop("drained");
  }

  /** Waits until nothing is under way, for `ms` at most. */
  async #quiet(ms: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    let isLate = false;
    const cancel = this.sessions.ground.platform.after(ms, () => {
      isLate = true;
      late.resolve();
    });
    while (this.#working.size > 0 && !isLate)
      await Promise.race([Promise.all(this.#working), late.promise]);
    cancel();
  }

  get #sql() {
    return this.sessions.ground.sql;
  }
}

export interface QueuedWork {
  readonly type: WorkType;
  readonly text: string;
  readonly images?: BlobRef[];
  readonly delivery?: "follow_up" | "steer" | "reject" | undefined;
  readonly source?: string;
  readonly requestId?: string;
  readonly identity?: string | undefined;
  readonly meta?: JsonObject | undefined;
}

/** What becomes of a run whose engine did not stop in time. */
function late(sql: Sql, run: LiveRun): Result {
  const diagnostic = "the engine did not stop in time";
  return run.stopped === "unwritable"
    ? orphanedResult(sql, run.cid, { terminal: "failed", diagnostic })
    : { terminal: "cancelled", diagnostic };
}

function failure(run: LiveRun, error: unknown): Result {
  const isUnwritable = run.stopped === "unwritable";
  const cause = isUnwritable ? run.cause : error;
  const said = cause instanceof Error ? cause.message : String(cause);
  return {
    terminal: "failed",
    diagnostic: isUnwritable ? `the store could not be written: ${said}` : said,
  };
}
