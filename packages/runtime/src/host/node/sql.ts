// A SQLite file, opened with Node's own driver: the storage port on a computer.
//
// Owns the connection, its statements and its transactions. Commits are written to the WAL on the loop and synced off
// it: `durable` shares one sync among everyone who asks meanwhile. Only SQLite opens the database file (any other open
// and close of it in this process would drop SQLite's locks); the WAL, which SQLite does not lock, is opened once for
// syncing. Checkpoints are `Checkpoints`.

import { chmod, open, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Fault } from "@lichen/wire";
import type { Sql, SqlValue } from "../../store/sql.ts";
import { Checkpoints } from "./checkpoint.ts";
import { refuseNetworkFileSystem } from "./file-system.ts";
import { makeFolder } from "./folder.ts";
import { toRefusal } from "./sqlite-refusal.ts";
import { WalSync } from "./wal-sync.ts";

export interface SqlOptions {
  /** Opens without writing anything: for a store that is damaged or belongs to another version. */
  readonly readOnly?: boolean;
  /**
   * Told once if a sync of the WAL fails. What was written since the last sync may be lost whatever one does, so the
   * host ends the process; every `durable()` rejects from then on.
   */
  readonly onSyncFailure?: (error: unknown) => void;
  /** After this long without a sync the WAL is given back to SQLite to begin anew. */
  readonly idleMs?: number;
}

export interface SqlFile {
  readonly sql: Sql;
  /** Absent where nothing is ever written: in memory, or read-only. */
  readonly checkpoints: Checkpoints | undefined;
  /** Waits for a sync under way, then closes; safe to call twice. */
  readonly close: () => Promise<void>;
}

/** Opens (or creates, readable by its owner only) the database at `path`; `:memory:` keeps it in memory. */
export async function openSql(path: string, options: SqlOptions = {}): Promise<SqlFile> {
  if (path === ":memory:") {
    const db = new DatabaseSync(path);
    db.exec("pragma foreign_keys = on");
    return fileOf(new Connection(db, "in memory"), undefined, undefined);
  }
  const label = basename(path);
  await refuseOther(path, label);
  if (options.readOnly) {
    await refuseNetworkFileSystem(dirname(path), label);
    const db = openDatabase(path, label, true);
    return fileOf(new Connection(db, label), undefined, undefined);
  }
  const folder = dirname(path);
  makeFolder(folder, `the folder of the store ${label}`);
  await refuseNetworkFileSystem(folder, label);
  const db = openDatabase(path, label, false);
  try {
    await chmod(path, 0o600);
    // SQLite gives the WAL and its index the permissions of the database, so they are right when it creates them.
    begin(db, label);
    for (const side of [`${path}-wal`, `${path}-shm`])
      if (await stat(side).catch(() => undefined)) await chmod(side, 0o600);
    await syncFolder(folder);
    const wal = await open(`${path}-wal`, "r");
    const checkpoints = new Checkpoints(db, path, options.idleMs);
    const sync = new WalSync(wal, {
      synced: () => checkpoints.look(),
      failed: (error) => options.onSyncFailure?.(error),
    });
    return fileOf(new Connection(db, label), sync, checkpoints);
  } catch (error) {
    db.close();
    throw toRefusal(error, label);
  }
}

/**
 * SQLite takes a file that is shorter than any database for an empty one, and would write over it; of a pipe it says that
 * the disk fails.
 */
async function refuseOther(path: string, label: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found || found.isDirectory()) return;
  if (found.isFile() && (found.size === 0 || found.size >= 512)) return;
  throw new Fault(
    "unreadable",
    `the store ${label} is no SQLite database; nothing was changed: move that file away, or choose another one`,
  );
}

function openDatabase(path: string, label: string, readOnly: boolean): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly, timeout: 1_000 });
    db.prepare("select count(*) from sqlite_schema").all();
    return db;
  } catch (error) {
    db?.close();
    throw toRefusal(error, label);
  }
}

function begin(db: DatabaseSync, label: string): void {
  try {
    // checkpoint_fullfsync matters on macOS only, where an ordinary fsync stops at the drive's cache. There the syncs
    // of the WAL are full as well: libuv's fdatasync is F_FULLFSYNC on that system.
    db.exec(
      "pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 0; pragma checkpoint_fullfsync = 1; pragma foreign_keys = on",
    );
    db.exec("begin immediate; commit");
  } catch (error) {
    throw toRefusal(error, label);
  }
}

/** Makes the names of new files durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function fileOf(
  connection: Connection,
  sync: WalSync | undefined,
  checkpoints: Checkpoints | undefined,
): SqlFile {
  let closing: Promise<void> | undefined;
  return {
    sql: {
      run: (statement, ...args) => connection.run(statement, args),
      all: <Row>(statement: string, ...args: SqlValue[]) =>
        connection.all(statement, args) as Row[],
      // The port's type keeps promises out of the body; what is left is the body's own result.
      transact: (body) => connection.transact(body) as never,
      inTransaction: () => connection.inTransaction(),
      durable: () => (sync ? sync.durable() : Promise.resolve()),
    },
    checkpoints,
    close() {
      closing ??= (async () => {
        await sync?.close();
        await checkpoints?.close();
        connection.close();
      })();
      return closing;
    },
  };
}

class Connection {
  readonly #db: DatabaseSync;
  readonly #label: string;
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;
  /** Why SQLite ended the open transaction by itself. */
  #ended: unknown;

  constructor(db: DatabaseSync, label: string) {
    this.#db = db;
    this.#label = label;
  }

  run(text: string, args: readonly SqlValue[]): void {
    this.#execute(text, args, (statement) => void statement.run(...args));
  }

  all(text: string, args: readonly SqlValue[]): unknown[] {
    return this.#execute(text, args, (statement) => statement.all(...args));
  }

  inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  transact<T>(body: () => T): T {
    const depth = this.#depth;
    if (depth > 0) this.#refuseIfEnded();
    const savepoint = `level_${depth}`;
    this.#control(depth === 0 ? "begin immediate" : `savepoint ${savepoint}`);
    this.#depth++;
    try {
      const result = body();
      this.#refuseIfEnded();
      this.#control(depth === 0 ? "commit" : `release ${savepoint}`);
      return result;
    } catch (error) {
      this.#undo(depth === 0 ? ["rollback"] : [`rollback to ${savepoint}`, `release ${savepoint}`]);
      throw error;
    } finally {
      this.#depth--;
      if (depth === 0) this.#ended = undefined;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #execute<T>(
    text: string,
    args: readonly SqlValue[],
    execute: (statement: StatementSync) => T,
  ): T {
    for (const value of args)
      if (typeof value === "boolean" || typeof value === "bigint" || value === undefined)
        throw new TypeError(`a parameter of SQL is a ${typeof value}`);
    if (this.#depth > 0) this.#refuseIfEnded();
    try {
      return execute(this.#prepared(text));
    } catch (error) {
      if (this.#depth > 0 && !this.#db.isTransaction) this.#ended ??= error;
      throw toRefusal(error, this.#label);
    }
  }

  /** Without a transaction, what the rest of a body writes could no longer be undone. */
  #refuseIfEnded(): void {
    if (this.#db.isTransaction) return;
    throw toRefusal(this.#ended ?? new Error("the transaction ended inside its body"), this.#label);
  }

  #control(text: string): void {
    try {
      this.#prepared(text).run();
    } catch (error) {
      if (this.#depth > 0 && !this.#db.isTransaction) this.#ended ??= error;
      throw toRefusal(error, this.#label);
    }
  }

  #undo(texts: readonly string[]): void {
    // Some errors (a full disk) end the whole transaction by themselves: then nothing is left to undo.
    if (!this.#db.isTransaction) return;
    try {
      for (const text of texts) this.#prepared(text).run();
    } catch {
      // The first error is what the caller must see. A transaction that stays open makes the next `begin` fail.
    }
  }

  #prepared(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (!statement) this.#statements.set(text, (statement = this.#db.prepare(text)));
    return statement;
  }
}
