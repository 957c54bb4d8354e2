// The storage port: one SQLite database, synchronous inside, durable outside.

export type SqlValue = string | number | null | Uint8Array;

type Sync<T> = T extends PromiseLike<unknown> ? "a transaction body cannot await" : T;

/** One SQLite database, as a host opened it. Synchronous, so no await can split a transaction. */
export interface Sql {
  run(statement: string, ...args: SqlValue[]): void;
  all<Row>(statement: string, ...args: SqlValue[]): Row[];
  /** Runs `body` in a transaction, nested where one is open. A throw undoes what this call did. */
  transact<T>(body: () => Sync<T>): T;
  /** Whether a transaction is open: some errors (a full disk) end the whole of it inside a nested one. */
  inTransaction(): boolean;
  /** Settles once every commit so far survives power loss. Nothing may leave the process before. */
  durable(): Promise<void>;
}
