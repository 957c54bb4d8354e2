// The group writer: all writes of an owner that arrive together share one transaction.
//
// It owns when a transaction begins and ends and what may be told afterwards. It does not know what is written.
//
//   S22  Each member runs in a nested transaction of its own; one that throws leaves the others untouched.
//   S23  Nothing is told, resolved or refused before its group is durable.
//   S24  A group is at most 16 members or 4 ms, so that the loop stays responsive.
//   S25  If SQLite dropped the whole transaction (a full disk does), every member is tried again alone.
//   S26  A writer whose generation is over writes nothing and faults `stale`.

import { Fault } from "@lichen/wire";
import type { Platform } from "../platform.ts";
import { generation } from "./schema.ts";
import type { Sql } from "./sql.ts";

const membersPerGroup = 16;
const groupMs = 4;

/** One member's view of the transaction it runs in. */
export class Tx {
  /** The time of everything this member writes. */
  readonly at: number;
  readonly #touched = new Set<number>();
  readonly #seals: (() => void)[] = [];
  readonly #commits: (() => void)[] = [];
  readonly #afters: (() => void)[] = [];
  readonly #undos: (() => void)[] = [];

  constructor(at: number) {
    this.at = at;
  }

  /** Says what the member writes to: readers of it wait until that is durable, readers of other things don't. */
  touch(sid: number): void {
    this.#touched.add(sid);
  }

  /** Runs at the end of the member, still inside its transaction. */
  seal(work: () => void): void {
    this.#seals.push(work);
  }

  /** Runs once what was written is committed, before it is durable: nothing that leaves the process. */
  committed(work: () => void): void {
    this.#commits.push(work);
  }

  /** Runs once what was written is durable. */
  after(work: () => void): void {
    this.#afters.push(work);
  }

  /** Runs if the member's writes were undone: gives back what was reserved in memory. */
  undo(work: () => void): void {
    this.#undos.push(work);
  }

  static touched(tx: Tx): ReadonlySet<number> {
    return tx.#touched;
  }

  static sealed(tx: Tx): void {
    for (const work of tx.#seals) work();
  }

  static isCommitted(tx: Tx): (() => void)[] {
    return tx.#commits;
  }

  static durable(tx: Tx): (() => void)[] {
    return tx.#afters;
  }

  static undone(tx: Tx): void {
    for (const work of tx.#undos) work();
  }
}

interface Member {
  readonly body: (tx: Tx) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Done {
  readonly member: Member;
  readonly tx: Tx;
  readonly value?: unknown;
  readonly error?: unknown;
  readonly failed: boolean;
}

export class Writer {
  readonly #sql: Sql;
  readonly #platform: Platform;
  readonly #generation: number;
  readonly #queue: Member[] = [];
  #scheduled = false;
  #syncs = 0;
  /** What is committed and waits for its sync to begin. */
  #unsynced: Done[] | undefined;
  /** Sessions with commits that are not durable yet, and how many. */
  readonly #dirty = new Map<number, number>();
  #last: Promise<void> | undefined;
  #broken: unknown;
  #isStale = false;

  constructor(sql: Sql, platform: Platform, ownGeneration: number) {
    this.#sql = sql;
    this.#platform = platform;
    this.#generation = ownGeneration;
  }

  /**
   * Runs `body` in a transaction with whatever else arrives now, and settles once it is durable. `body` may run
   * twice (the first time undone), so it touches only the database and `tx`.
   */
  commit<T>(body: (tx: Tx) => T): Promise<T> {
    if (this.#broken) return Promise.reject(this.#broken);
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ body, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** A sync failed: this owner writes nothing more, and its host was told. */
  get isLost(): boolean {
    return this.#broken !== undefined;
  }

  /**
   * Settles when everything committed so far (of one session, where `sid` is given) is durable, and rejects where it
   * never will be; undefined where it is already.
   */
  pending(sid?: number): Promise<void> | undefined {
    return sid === undefined || this.#dirty.has(sid) ? this.#last : undefined;
  }

  /** Settles when nothing waits and nothing is being synced. */
  async idle(): Promise<void> {
    while (!this.#broken && (this.#queue.length > 0 || this.#last)) {
      const soon = (): Promise<void> => new Promise((resolve) => this.#platform.soon(resolve));
      await (this.#last?.catch(ignore) ?? soon());
    }
  }

  // An idle writer commits at the end of the running task. While a sync is under way, a small group waits for it: its
  // own sync could not begin earlier anyway. A full one goes ahead, so that its transaction overlaps with the sync.
  #schedule(when: (flush: () => void) => void = queueMicrotask): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    if (this.#syncs > 0 && this.#queue.length < membersPerGroup) return;
    this.#scheduled = true;
    when(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const done = this.#queue.length === 1 ? [this.#alone(this.#queue.shift()!)] : this.#group();
    for (const { tx, failed } of done) {
      if (failed) continue;
      for (const sid of Tx.touched(tx)) this.#dirty.set(sid, (this.#dirty.get(sid) ?? 0) + 1);
      this.#run(Tx.isCommitted(tx));
    }
    this.#conclude(done);
    // What is left waits for its turn, so that one caller's flood does not hold the loop.
    this.#schedule((flush) => this.#platform.soon(flush));
  }

  #group(): Done[] {
    const began = this.#platform.now();
    const members: Member[] = [];
    const done: Done[] = [];
    try {
      this.#sql.transact(() => {
        this.#checkGeneration();
        do {
          const member = this.#queue.shift();
          if (!member) break;
          members.push(member);
          done.push(this.#attempt(member));
        } while (members.length < membersPerGroup && this.#platform.now() - began < groupMs);
      });
      return done;
    } catch {
      for (const { tx, failed } of done) if (!failed) Tx.undone(tx);
      // Refused before its first member, as a stale writer is: those who wait learn it.
      if (members.length === 0) members.push(...this.#queue.splice(0, membersPerGroup));
      return members.map((it) => this.#alone(it));
    }
  }

  #attempt(member: Member): Done {
    const tx = new Tx(this.#platform.now());
    try {
      const value = this.#sql.transact(() => {
        const answer = member.body(tx);
        Tx.sealed(tx);
        return [answer];
      })[0];
      return { member, tx, value, failed: false };
    } catch (error) {
      Tx.undone(tx);
      if (!this.#sql.inTransaction()) throw error;
      return { member, tx, error, failed: true };
    }
  }

  // Alone in its group, a member needs no transaction inside the group's.
  #alone(member: Member): Done {
    const tx = new Tx(this.#platform.now());
    try {
      const [value] = this.#sql.transact(() => {
        this.#checkGeneration();
        const answer = member.body(tx);
        Tx.sealed(tx);
        return [answer];
      });
      return { member, tx, value, failed: false };
    } catch (error) {
      Tx.undone(tx);
      return { member, tx, error, failed: true };
    }
  }

  #checkGeneration(): void {
    if (generation(this.#sql) === this.#generation) return;
    const stale = new Fault(
      "stale",
      "Another process has taken this store over; this one can write no more. Stop it, or open the store again.",
    );
    if (!this.#isStale) this.#platform.lost(stale);
    this.#isStale = true;
    throw stale;
  }

  // The sync begins when the running task and what follows it at once have committed too, so that one covers them all.
  #conclude(done: Done[]): void {
    if (done.length === 0) return;
    if (this.#unsynced) {
      this.#unsynced.push(...done);
      return;
    }
    this.#unsynced = done;
    const told = new Promise<void>((resolve) => this.#platform.soon(resolve)).then(() =>
      this.#sync(),
    );
    told.catch(ignore);
    this.#last = told;
    void told.then(() => {
      if (this.#last === told) this.#last = undefined;
    }, ignore);
  }

  async #sync(): Promise<void> {
    const done = this.#unsynced ?? [];
    this.#unsynced = undefined;
    this.#syncs++;
    try {
      await this.#sql.durable();
    } catch (error) {
      this.#broken = error;
      this.#platform.lost(error);
      for (const { member } of [...done, ...this.#queue.splice(0).map((it) => ({ member: it }))])
        member.reject(error);
      throw error;
    }
    this.#syncs--;
    for (const { tx, failed } of done) if (!failed) this.#clean(tx);
    for (const it of done) this.#tell(it);
    this.#schedule();
  }

  #clean(tx: Tx): void {
    for (const sid of Tx.touched(tx)) {
      const left = (this.#dirty.get(sid) ?? 1) - 1;
      if (left === 0) this.#dirty.delete(sid);
      else this.#dirty.set(sid, left);
    }
  }

  #tell({ member, tx, value, error, failed }: Done): void {
    if (failed) {
      member.reject(error);
      return;
    }
    this.#run(Tx.durable(tx));
    member.resolve(value);
  }

  #run(works: (() => void)[]): void {
    for (const work of works) {
      try {
        work();
      } catch (bug) {
        this.#platform.report(bug);
      }
    }
  }
}

function ignore(): void {
  // Those who wait were told.
}
