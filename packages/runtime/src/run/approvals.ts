// Approvals: durable questions to a person. Asked once, decided once, alive over restarts.
//
//   P2  A question asked again under its name after a restart is the same approval, with its answer if it has one; where
//       it asks something else by then, it is another approval and the former one is withdrawn.
//   P3  An input that a person edited is validated before it is recorded, and bound by its own digest.
//   P4  An approval nobody answers expires as denied at its time, also when the host was down then.
//   P5  What a call asks while it runs is withdrawn when the call ends.
//   P6  `always` is taken only where the engine suggested something lasting.
//   P7  `interrupt` goes with a denial.
//   P9  Answers that do not fit the questions are refused.

import { canonicalJson, Fault, type EntryData, type JsonObject } from "@lichen/wire";
import type { Answer, Question } from "../engine/port.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { sessionBySid } from "../log/session-row.ts";
import type { Sessions } from "../queue/sessions.ts";
import { instant } from "../store/ground.ts";
import { eidOf, idOf, seqOf, sidOf } from "../store/keys.ts";
import type { Tx } from "../store/writer.ts";
import {
  answerOf,
  approvalNamed,
  approvalRow,
  type ApprovalRow,
  askedAbout,
  decideApproval,
  dueApprovals,
  earliestDue,
  insertApproval,
  namedIn,
  pendingApprovals,
  wholeAsked,
  type Withdrawal,
  writeWithdrawn,
} from "./approval-table.ts";
import { fittingAnswers } from "./fitting-answers.ts";

interface Waiter {
  readonly resolve: (answer: Answer) => void;
  readonly check: Question["check"];
}

/** The run that asks. */
export interface Asker {
  readonly cid: number;
  /** Whoever waits stops waiting when it aborts. */
  readonly signal: AbortSignal;
  /** Commits on the run's session, as long as the run may write. */
  write<T>(body: (session: SessionWriter, tx: Tx) => T): Promise<T>;
  /** The run begins to wait for a person; the answer ends that. */
  rest(): () => void;
}

export type GivenAnswer = Pick<
  EntryData["approval.answered"],
  "allow" | "message" | "answers" | "input" | "always" | "interrupt"
>;

const dayMs = 86_400_000;

export class Approvals {
  readonly #sessions: Sessions;
  readonly #ttlMs: number;
  readonly #waiters = new Map<number, Set<Waiter>>();
  #wake: { at: number; cancel: () => void } | undefined;
  #closed = false;

  constructor(sessions: Sessions, ttlMs: number) {
    this.#sessions = sessions;
    this.#ttlMs = ttlMs;
  }

  /** Begins to watch for approvals that fall due; those that did while the host was down expire now. */
  start(): void {
    this.#arm();
  }

  stop(): void {
    this.#closed = true;
    this.#wake?.cancel();
  }

  /** Asks, or finds what was asked under this name, and waits for the decision. Rejects when `signal` aborts. */
  async ask(question: Question, asker: Asker): Promise<Answer> {
    const { writer } = this.#sessions.ground;
    const { signal } = asker;
    signal.throwIfAborted();
    const known = this.#known(question, asker.cid);
    if (known && known.state !== "pending") {
      await writer.pending();
      return this.#decided(known);
    }
    const decision = Promise.withResolvers<Answer>();
    const waiter: Waiter = { resolve: decision.resolve, check: question.check };
    const asked = known?.asked ?? (await this.#record(question, asker, waiter));
    this.#await(asked, waiter);
    const abandon = (): void => decision.reject(signal.reason);
    if (signal.aborted) abandon();
    signal.addEventListener("abort", abandon);
    const wakeUp = asker.rest();
    try {
      return await decision.promise;
    } finally {
      wakeUp();
      signal.removeEventListener("abort", abandon);
      this.#leave(asked, waiter);
    }
  }

  #await(asked: number, waiter: Waiter): void {
    const waiters = this.#waiters.get(asked);
    if (waiters) waiters.add(waiter);
    else this.#waiters.set(asked, new Set([waiter]));
  }

  #leave(asked: number, waiter: Waiter): void {
    const waiters = this.#waiters.get(asked);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(asked);
  }

  /** What was asked under this name, as long as it asked the same. */
  #known(question: Question, cid: number): ApprovalRow | undefined {
    const { sql } = this.#sessions.ground;
    const named = approvalNamed(sql, cid, question.key);
    return named && askedAbout(sql, named.asked).digest === this.#digest(question)
      ? named
      : undefined;
  }

  #digest({ input, questions }: Question): string {
    return this.#sessions.ground.platform.sha256(canonicalJson(input ?? questions ?? null));
  }

  #record(question: Question, asker: Asker, waiter: Waiter): Promise<number> {
    const { sql } = this.#sessions.ground;
    const { cid } = asker;
    return asker.write((session, tx) => {
      // The same question, asked twice at once, is one approval.
      const known = this.#known(question, cid);
      if (known) {
        tx.after(() => {
          if (known.state === "pending") this.#await(known.asked, waiter);
          else waiter.resolve(this.#decided(known));
        });
        return known.asked;
      }
      const former = approvalNamed(sql, cid, question.key);
      if (former?.state === "pending")
        this.#withdraw(tx, session, former, {
          reason: "something else is asked",
          isAskedAgain: question.prompt === askedAbout(sql, former.asked).prompt,
        });
      const expiresAt = tx.at + this.#ttlMs;
      const { key: name, check: _check, line, ...shown } = question;
      if (line) session.append({ kind: "harness.line", command: seqOf(cid), data: line });
      const asked = session.info.head + 1;
      session.append({
        kind: "approval.asked",
        command: seqOf(cid),
        data: {
          ...shown,
          approvalId: idOf("apr", session.row.key, asked),
          digest: this.#digest(question),
          expiresAt: instant(expiresAt),
        },
      });
      const eid = eidOf(session.row.sid, asked);
      insertApproval(sql, { asked: eid, cid, name, expires_at: expiresAt });
      tx.after(() => {
        this.#await(eid, waiter);
        this.#arm();
      });
      return eid;
    });
  }

  /** Decides a pending approval inside a transaction; false where it was decided already. */
  answer(tx: Tx, session: SessionWriter, asked: number, given: GivenAnswer, by: By): boolean {
    if (given.interrupt && given.allow)
      throw new Fault(
        "invalid",
        "interrupt: it goes with a denial: what is allowed goes on, so deny it or leave `interrupt` out.",
      );
    const { sql, platform } = this.#sessions.ground;
    const row = approvalRow(sql, asked);
    if (!row || sidOf(asked) !== session.row.sid)
      throw new Fault("unknown_approval", "There is no such approval in this session.");
    if (row.state !== "pending") return false;
    if (given.always && !isSuggesting(sql, asked))
      throw new Fault(
        "invalid",
        "always: nothing lasting is on offer here: answer this one time and leave `always` out.",
      );
    const input = given.input && this.#checked(asked, given.input);
    const { digest, kind } = askedAbout(sql, asked);
    const answers =
      given.allow && kind === "question"
        ? fittingAnswers(wholeAsked(sql, asked), given)
        : given.answers;
    const entry = session.append({
      kind: "approval.answered",
      command: seqOf(row.cid),
      meta: by.meta,
      by: by.identity,
      data: {
        ...given,
        ...(answers ? { answers } : {}),
        ...(input ? { input } : {}),
        ...namedIn(sql, session, asked),
        digest: input ? platform.sha256(canonicalJson(input)) : digest,
      },
    });
    const answer = eidOf(session.row.sid, entry.seq);
    decideApproval(sql, asked, given.allow ? "allowed" : "denied", answer);
    tx.after(() => this.#tell({ ...row, state: given.allow ? "allowed" : "denied", answer }));
    return true;
  }

  /** The harness needs no answer any more. */
  async withdraw(cid: number, name: string, why: Withdrawal): Promise<void> {
    const { sql } = this.#sessions.ground;
    await this.#sessions.write(sidOf(cid), (tx, session) => {
      const row = approvalNamed(sql, cid, name);
      if (row?.state === "pending") this.#withdraw(tx, session, row, why);
    });
  }

  /** The harness needs no answer any more to all that it asked under names that begin so. */
  async withdrawAll(cid: number, prefix: string, why: Withdrawal): Promise<void> {
    const { sql } = this.#sessions.ground;
    await this.#sessions.write(sidOf(cid), (tx, session) => {
      for (const row of pendingApprovals(sql, cid))
        if (row.name.startsWith(prefix)) this.#withdraw(tx, session, row, why);
    });
  }

  /** A call ends, in this transaction: what it asked meanwhile needs no answer any more. */
  endCall(tx: Tx, session: SessionWriter, cid: number, call: string): void {
    if (session.info.approvals === 0) return;
    for (const row of pendingApprovals(this.#sessions.ground.sql, cid))
      if (row.name.startsWith(`${call}/`))
        this.#withdraw(tx, session, row, { reason: "the call ended" });
  }

  #withdraw(tx: Tx, session: SessionWriter, row: ApprovalRow, why: Withdrawal): void {
    writeWithdrawn(this.#sessions.ground.sql, session, row, why);
    tx.after(() => this.#tell({ ...row, state: "withdrawn" }));
  }

  #checked(asked: number, input: JsonObject): JsonObject {
    const [waiter] = this.#waiters.get(asked) ?? [];
    if (!waiter)
      throw new Fault(
        "unavailable",
        "The run that asked is not back yet, so nobody can check the edited input: try again in a moment, or answer without an edit.",
      );
    if (!waiter.check) return input;
    try {
      return waiter.check(input);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Fault("invalid", `The edited input does not fit: ${reason}`, { cause: error });
    }
  }

  #tell(row: ApprovalRow): void {
    const decided = this.#decided(row);
    for (const waiter of this.#waiters.get(row.asked) ?? []) waiter.resolve(decided);
  }

  #decided(row: ApprovalRow): Answer {
    const given = answerOf(this.#sessions.ground.sql, row);
    if (row.state === "withdrawn" || row.state === "expired") return { outcome: row.state };
    return {
      outcome: row.state === "allowed" ? "allowed" : "denied",
      ...(typeof given?.message === "string" ? { message: given.message } : {}),
      ...(given?.answers ? { answers: given.answers } : {}),
      ...(given?.input ? { input: given.input } : {}),
      ...(given?.always === undefined ? {} : { always: given.always }),
      ...(given?.interrupt === undefined ? {} : { interrupt: given.interrupt }),
    };
  }

  // One timer for the earliest due approval; a long wait is cut, since timers hold 24 days at most.
  #arm(): void {
    const due = earliestDue(this.#sessions.ground.sql);
    if (this.#closed || due === undefined || (this.#wake && this.#wake.at <= due)) return;
    this.#wake?.cancel();
    const { platform } = this.#sessions.ground;
    const ms = Math.min(Math.max(due - platform.now(), 0), dayMs);
    this.#wake = { at: due, cancel: platform.after(ms, () => void this.#expire()) };
  }

  async #expire(): Promise<void> {
    const { ground } = this.#sessions;
    this.#wake = undefined;
    try {
      await ground.writer.commit((tx) => {
        // One writer for each session: two of them would number their entries alike.
        const writers = new Map<number, SessionWriter>();
        for (const row of dueApprovals(ground.sql, tx.at, 100)) {
          const sid = sidOf(row.asked);
          const session = writers.get(sid) ?? this.#writerOf(tx, sid);
          decideApproval(ground.sql, row.asked, "expired", null);
          if (!session) continue;
          writers.set(sid, session);
          session.append({
            kind: "approval.expired",
            command: seqOf(row.cid),
            data: namedIn(ground.sql, session, row.asked),
          });
          tx.after(() => this.#tell({ ...row, state: "expired" }));
        }
      });
    } catch (error) {
      if (this.#closed || (Fault.is(error) && error.code === "stale")) return;
      ground.platform.report(error);
      this.#wake = {
        at: 0,
        cancel: ground.platform.after(1_000, () => {
          this.#wake = undefined;
          this.#arm();
        }),
      };
      return;
    }
    this.#arm();
  }

  #writerOf(tx: Tx, sid: number): SessionWriter | undefined {
    const row = sessionBySid(this.#sessions.ground.sql, sid);
    return row && this.#sessions.writer(tx, row);
  }
}

export interface By {
  readonly meta?: JsonObject | undefined;
  readonly identity?: string | undefined;
}

/** Whether something lasting was suggested. The suggestions may be an array or, put aside, a reference to one. */
function isSuggesting(sql: Parameters<typeof approvalRow>[0], asked: number): boolean {
  const [row] = sql.all<{ type: string | null; first: string | null }>(
    "select json_type(data, '$.suggestions') as type, json_type(data, '$.suggestions[0]') as first from entry where eid = ?",
    asked,
  );
  return row?.type === "object" || (row?.type === "array" && row.first !== null);
}
