// The peer of durable admission: the same statements in a loop over Node's own driver, one commit for each admission.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Statement, Transaction } from "./sql-trace.ts";

export class BareSql {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  /** The pragmas of a store, save for how a commit is synced. */
  constructor(path: string, synchronous: "off" | "normal" | "full") {
    this.#db = new DatabaseSync(path);
    this.#db.exec(
      `pragma journal_mode = wal; pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = 0;` +
        "pragma checkpoint_fullfsync = 1; pragma foreign_keys = on",
    );
  }

  /** One transaction. */
  commit(statements: Iterable<Statement>): void {
    this.#statement("begin immediate").run();
    for (const { text, values } of statements) {
      const statement = this.#statement(text);
      if (/^\s*select|returning/i.test(text)) statement.all(...values);
      else statement.run(...values);
    }
    this.#statement("commit").run();
  }

  /** Transactions per second over all of them, one after the other. */
  rate(transactions: readonly Transaction[]): number {
    const began = performance.now();
    for (const statements of transactions) this.commit(statements);
    return transactions.length / ((performance.now() - began) / 1_000);
  }

  close(): void {
    this.#db.close();
  }

  #statement(text: string): StatementSync {
    let statement = this.#prepared.get(text);
    if (!statement) this.#prepared.set(text, (statement = this.#db.prepare(text)));
    return statement;
  }
}
