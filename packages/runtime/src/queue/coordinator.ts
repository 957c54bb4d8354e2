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
//   RH6  What an engine opened by itself runs at once, before all that is queued: its harness is at it already.

import { Fault } from "@lichen/wire";
import type { Engine, Result, Work } from "../engine/port.ts";
import { type SessionRow, sessionBySid, type SessionWriter } from "../log/session-row.ts";
import { Approvals } from "../run/approvals.ts";
import { LiveRun, type RunHouse, type StopReason } from "../run/live-run.ts";
import { type AccessRules, GrantBook } from "../session/grants.ts";
import { KeptAgents } from "../session/kept-agents.ts";
import { idOf, sidOf } from "../store/keys.ts";
import type { Tx } from "../store/writer.ts";
import { type QueuedWork, writeQueued, writeStarted } from "./command-entries.ts";
import { commandRow, nextCommand, queuedOutside } from "./command-table.ts";
import { Connections, type Opened } from "./connections.ts";
import { Places } from "./places.ts";
import { orphanedResult, recover } from "./recovery.ts";
import { failure, resultOf } from "./result.ts";
import type { Sessions } from "./sessions.ts";
import { settleRun } from "./settle.ts";
import { workOf } from "./work.ts";

/** What runs that were left to the next process have to end. */
const stopMs = 5_000;
/** What the connections of runs that did not stop have to close. */
const lastWordMs = 500;
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
  readonly kept: KeptAgents;
  readonly partialChanged: (sid: number) => void;
  readonly #places: Places;
  readonly #only: string | undefined;
  /** Runs of an earlier process that are left to the next one. */
  readonly #atRest = new Set<number>();
  readonly #engines = new Map<number, Engine>();
  readonly #connections: Connections;
  readonly #live = new Map<number, LiveRun>();
  readonly #working = new Set<Promise<void>>();
  #draining = false;

  constructor(sessions: Sessions, options: CoordinatorOptions) {
    this.sessions = sessions;
    this.#only = options.only;
    this.#places = new Places(
      options.capacity,
      (to) => void this.#track("orphan" in to ? this.#resume(to.orphan) : this.#claimReady(to.sid)),
    );
    this.partialChanged = options.partialChanged;
    this.grants = new GrantBook(sessions);
    this.kept = new KeptAgents(sessions);
    this.#connections = new Connections(sessions, {
      outside: (sid, opened) => this.#outside(sid, opened),
      record: (sid, drafts, by) => this.kept.record(sid, drafts, by),
      closing: (work) => this.#track(work),
    });
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

  /**
   * An agent is about to be removed: nothing of it begins any more, and what runs ends without a word. Settles when its
   * connections are closed.
   */
  async release(aid: number): Promise<void> {
    this.#engines.delete(aid);
    this.grants.detach(aid);
    await Promise.all(this.#connections.sidsOf(aid).map((sid) => this.forget(sid)));
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
    const seq = writeQueued(this.#sql, session, queued);
    const { sid } = session.row;
    tx.after(() => {
      const live = this.#live.get(sid);
      if (queued.delivery === "steer") live?.noteSteer();
      else live?.noteQueued();
    });
    this.claim(tx, session);
    return seq;
  }

  /**
   * Starts the session's next queued command inside `tx` where nothing runs in it and a place is free: the oldest, or
   * what its engine opened by itself, which needs no free place.
   */
  claim(tx: Tx, session: SessionWriter, holdsPlace = false): boolean {
    const { row } = session;
    const engine = this.#engines.get(row.aid);
    if (!engine || this.#draining || row.info.state !== "queued") return false;
    if (this.#only !== undefined && row.id !== this.#only) return false;
    const next = nextCommand(this.#sql, row.sid, row.info.pending);
    if (!next) return false;
    if (!holdsPlace && next.type !== "outside" && this.#places.areFull) {
      tx.after(() => this.#places.wait(row.sid));
      return false;
    }
    if (!holdsPlace) tx.undo(this.#places.take());
    const work = writeStarted(this.sessions.ground, session, next, engine.name);
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

  /** A session was deleted: its run ends without a word. Settles when its connection is closed. */
  forget(sid: number): Promise<void> {
    this.#places.forget(sid);
    const run = this.#live.get(sid);
    run?.stop("deleted");
    run?.end();
    return this.#connections.close(sid, "its session was deleted");
  }

  /** Opens a session's connection before any run needs it. */
  connect(row: SessionRow): void {
    const engine = this.#engines.get(row.aid);
    if (!engine || this.#draining)
      throw new Fault("unavailable", `Agent ${row.info.agent} has no engine now: attach it first.`);
    this.#connections.open(row, engine);
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
    // Its agent was released meanwhile: nothing of it begins any more.
    if (!this.#engines.has(row.aid)) return this.#places.giveBack();
    const run = new LiveRun(this, row, cid);
    this.#live.set(row.sid, run);
    // Steers that the earlier process did not come to wait for the run that goes on.
    if (work.resumed && run.hasQueuedSteer()) run.noteSteer();
    if (this.#draining) void this.#track(this.#leave(run));
    void this.#track(this.#execute(row, run, work, engine));
  }

  async #execute(row: SessionRow, run: LiveRun, work: Work, engine: Engine): Promise<void> {
    const begin = (): Promise<Result> => this.#connections.open(row, engine).run(work, run);
    const result = await resultOf(this.sessions.ground, run, begin);
    run.noteReturned();
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
    const { sid } = session.row;
    if (!this.#places.areWanted || queuedOutside(this.#sql, sid))
      return this.claim(tx, session, true);
    if (session.info.state === "queued") tx.after(() => this.#places.queueUp(sid));
    return false;
  }

  #close(sid: number, run: LiveRun): void {
    run.end();
    if (this.#live.get(sid) !== run) return;
    this.#live.delete(sid);
    if (!this.#connections.stays(sid) || this.#draining) void this.#connections.close(sid);
  }

  #outside(sid: number, opened: Opened): Promise<{ commandId: string }> {
    return this.sessions.write(sid, (tx, session) => {
      if (this.#draining) throw new Fault("unavailable", "The host is stopping: no run begins.");
      const { state } = session.info;
      // What the engine is done with leaves the session in a moment.
      const isBusy = state === "running" || state === "waiting";
      if (isBusy && !this.#live.get(sid)?.isReturned)
        throw new Fault(
          "busy",
          `Session ${session.row.id} is ${state}: what its harness does now belongs to that run.`,
          { retryable: true },
        );
      const seq = this.enqueue(tx, session, { type: "outside", ...opened });
      return { commandId: idOf("cmd", session.row.key, seq) };
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

  #track(work: Promise<void>): Promise<void> {
    const tracked = work
      .catch((error: unknown) => this.sessions.ground.platform.report(error))
      .finally(() => this.#working.delete(tracked));
    this.#working.add(tracked);
    return tracked;
  }

  /**
   * Stops claiming; lets runs end by themselves for `patienceMs`, then stops the rest and leaves them to recovery.
   * A run is stopped as soon as it only waits for people.
   */
  async drain(patienceMs: number): Promise<void> {
    this.#draining = true;
    this.#places.close();
    this.approvals.stop();
    for (const run of this.#live.values())
      void run.whenItOnlyWaits().then(() => (run.stopped ? undefined : this.#leave(run)));
    if (this.#live.size > 0 && patienceMs > 0) await this.#quiet(patienceMs);
    await Promise.all([...this.#live.values()].map((run) => this.#leave(run)));
    for (const sid of this.#connections.sids())
      if (!this.#live.has(sid)) void this.#connections.close(sid);
    await this.#quiet(stopMs);
    for (const sid of this.#connections.sids()) void this.#connections.close(sid);
    await this.#quiet(lastWordMs);
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
