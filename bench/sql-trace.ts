// What an owner says to its database, recorded statement by statement, so that a bare loop can say the same.

import type { Sql, SqlValue } from "@lichen/runtime";

export interface Statement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** One outermost transaction, its nested ones dissolved. */
export type Transaction = readonly Statement[];

/** Passes everything on, and keeps what was said in transactions. */
export class RecordingSql implements Sql {
  readonly transactions: Transaction[] = [];
  /** How many transactions are committed, and how many of them are synced. */
  committed = 0;
  synced = 0;
  readonly #sql: Sql;
  #open: Statement[] | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  run(text: string, ...values: SqlValue[]): void {
    this.#open?.push({ text, values });
    this.#sql.run(text, ...values);
  }

  all<Row>(text: string, ...values: SqlValue[]): Row[] {
    this.#open?.push({ text, values });
    return this.#sql.all<Row>(text, ...values);
  }

  transact: Sql["transact"] = (body) => {
    if (this.#open) return this.#sql.transact(body);
    const statements: Statement[] = [];
    this.#open = statements;
    try {
      const answer = this.#sql.transact(body);
      this.transactions.push(statements);
      this.committed++;
      return answer;
    } finally {
      this.#open = undefined;
    }
  };

  inTransaction(): boolean {
    return this.#sql.inTransaction();
  }

  async durable(): Promise<void> {
    const covers = this.committed;
    await this.#sql.durable();
    this.synced = Math.max(this.synced, covers);
  }
}

export function isWrite({ text }: Statement): boolean {
  return !/^\s*(select|with)\b/i.test(text);
}
