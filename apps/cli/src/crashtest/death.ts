// The moment of death: counts durable writes and effects, and kills this process at the one it was told.
//
// It is a real SIGKILL: nothing of the process runs after it, and nobody heard yet of the write it came after.

import type { Sql, SqlValue } from "@lichen/runtime";
import type { Death } from "./job.ts";

export class Deaths {
  readonly #death: Death | undefined;
  readonly writes: string[] = [];
  readonly effects: string[] = [];
  #kinds: string[] = [];

  constructor(death: Death | undefined) {
    this.#death = death;
  }

  /** The same database, except that a write's caller may not live to hear of it. */
  aroundSql(sql: Sql): Sql {
    return {
      run: (statement, ...args) => {
        sql.run(statement, ...args);
        this.#note(statement, args);
      },
      all: (statement, ...args) => sql.all(statement, ...args),
      transact: (body) => sql.transact(body),
      inTransaction: () => sql.inTransaction(),
      // The writer asks for this as soon as a transaction is over.
      durable: async () => {
        const kinds = this.#kinds.join(", ");
        this.#kinds = [];
        await sql.durable();
        this.writes.push(kinds);
        const count = this.writes.filter((it) => it === kinds).length;
        const death = this.#death;
        if (death?.after === "write" && death.kinds === kinds && death.count === count) await die();
      },
    };
  }

  /** An effect was there, and its outcome is not written. */
  async effectReturned(tool: string): Promise<void> {
    this.effects.push(tool);
    if (this.#death?.after === "effect" && this.#death.count === this.effects.length) await die();
  }

  /** The runtime's one statement that writes an entry has its kind as the third value. */
  #note(statement: string, args: readonly SqlValue[]): void {
    if (statement.startsWith("insert into entry ")) this.#kinds.push(String(args[2]));
  }
}

async function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise<never>(() => undefined);
}
