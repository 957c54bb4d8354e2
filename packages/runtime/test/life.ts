// One life of an owner: its own view of the database and of the platform, which both end with it.
//
// A life that dies is a process that was killed: nothing it had begun goes on, nothing it waited for ever settles. What
// it committed stands in the database for the next life.

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Agent, Owner, Session, Sql } from "../src/index.ts";
import type { Platform } from "../src/platform.ts";
import type { Clock } from "./clock.ts";

export class Life {
  readonly platform: Platform;
  readonly sql: Sql;
  /** Lets a test make statements fail: what it answers is thrown. */
  trouble: ((statement: string) => Error | undefined) | undefined;
  /** Outermost transactions that were committed. */
  commits = 0;
  /** So many of the next commits fail and lose their whole transaction. */
  losesCommits = 0;
  readonly #base: Sql;
  #isDead = false;
  #depth = 0;
  #lastCommit = Number.POSITIVE_INFINITY;
  #syncs: Promise<void> | undefined;
  #owner: Owner | undefined;
  readonly #agents = new Map<string, Agent>();

  constructor(base: Sql, clock: Clock, ids: () => string, report: (error: unknown) => void) {
    this.#base = base;
    this.sql = {
      run: (statement, ...args) => {
        this.#check(statement);
        base.run(statement, ...args);
      },
      all: <Row>(statement: string, ...args: Parameters<Sql["run"]>[1][]) => {
        this.#check(statement);
        return base.all<Row>(statement, ...args);
      },
      transact: (body) => this.#transact(body),
      inTransaction: () => base.inTransaction(),
      durable: () => this.#durable(),
    };
    this.platform = {
      now: () => clock.now(),
      randomId: (length) => ids().padStart(length, "0").slice(-length),
      sha256: (data) => createHash("sha256").update(data).digest("hex"),
      digest: () => {
        const digest = createHash("sha256");
        return { update: (bytes) => void digest.update(bytes), hex: () => digest.digest("hex") };
      },
      toBase64: (bytes) => Buffer.from(bytes).toString("base64"),
      fromBase64: (text) => Buffer.from(text, "base64"),
      after: (ms, wake) => clock.after(ms, () => this.#alive(wake)),
      soon: (work) => void setImmediate(() => this.#alive(work)),
      report: (error) => this.#alive(() => report(error)),
      lost: (error) => this.#alive(() => report(error)),
    };
  }

  begin(owner: Owner): void {
    this.#owner = owner;
  }

  meet(agent: Agent): void {
    this.#agents.set(agent.agent, agent);
  }

  get owner(): Owner {
    return this.#owner!;
  }

  get agent(): Agent {
    return [...this.#agents.values()][0]!;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  session(id = "s"): Session {
    return this.agent.session(id);
  }

  die(): void {
    this.#isDead = true;
  }

  /** Dies right after the `count`-th commit from now. */
  dieAfterCommits(count: number): void {
    this.#lastCommit = this.commits + count;
  }

  /** From now on nothing is durable until the answer is called. */
  holdSyncs(): () => void {
    const gate = Promise.withResolvers<void>();
    this.#syncs = gate.promise;
    return () => {
      this.#syncs = undefined;
      gate.resolve();
    };
  }

  /** From now on every sync fails. */
  failSyncs(error: Error): void {
    this.#syncs = Promise.reject(error);
    this.#syncs.catch(() => {
      // Whoever asks for a sync hears of it.
    });
  }

  #check(statement: string): void {
    if (this.#isDead) throw new Error("this process is dead");
    const error = this.trouble?.(statement);
    if (error) throw error;
  }

  #transact<T>(body: Parameters<typeof this.sql.transact<T>>[0]): T {
    this.#check("transaction");
    this.#depth++;
    let value: T;
    try {
      value = this.#base.transact(() => {
        const answer = body();
        if (this.#depth === 1 && this.losesCommits > 0) {
          this.losesCommits--;
          throw new Error("the whole transaction was lost");
        }
        return answer;
      });
    } finally {
      this.#depth--;
    }
    if (this.#depth === 0 && ++this.commits >= this.#lastCommit) {
      this.#isDead = true;
      throw new Error("this process died after a commit");
    }
    return value;
  }

  async #durable(): Promise<void> {
    if (!this.#isDead) await (this.#syncs ?? this.#base.durable());
    if (this.#isDead) await new Promise<never>(() => {});
  }

  #alive(work: () => void): void {
    if (!this.#isDead) work();
  }
}
