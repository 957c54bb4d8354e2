// A SQLite file of a host's own beside its store, that any process of this user may open: small tables that are no part
// of any session's log.
//
//   Readable by its owner only. Every change is one transaction, on the disk when it returns; none waits longer than
//   five seconds for another process. Only SQLite opens the file, whose locks end where anybody else closes it.

import { chmodSync, lstatSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { makeFolder, networkFileSystemAt, toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";

export interface PrivateDbOptions {
  readonly path: string;
  /** Statements that make what is not there yet. */
  readonly schema: string;
  readonly version: number;
  /** What its user does again once the file is moved away: "sign in again". */
  readonly again: string;
}

export interface PrivateDb {
  readonly db: DatabaseSync;
  /** Runs the body in a transaction, which is on the disk when this returns. */
  change<T>(body: () => T): T;
  look<T>(body: () => T): T;
  /** Safe to call twice. */
  close(): void;
}

/** What a file is called in a refusal, and what to do again without it. */
interface Label {
  readonly name: string;
  readonly again: string;
}

const busyMs = 5_000;

/** Opens the file, or makes it. Throws a `Fault`. */
export async function openPrivateDb(options: PrivateDbOptions): Promise<PrivateDb> {
  const { path, schema, version, again } = options;
  const label: Label = { name: basename(path), again };
  makeFolder(dirname(path), `the folder of ${label.name}`);
  const network = await networkFileSystemAt(dirname(path));
  if (network !== undefined)
    throw new Fault(
      "unreadable",
      `${label.name} would lie on a network file system (${network}), where locks between processes do not hold: choose a state directory on a local disk`,
    );
  keepPrivate(path, label.name);
  const db = refusing(label, () => new DatabaseSync(path, { timeout: busyMs }));
  try {
    await useWal(db, label);
    refusing(label, () => {
      // What is replaced or taken back is overwritten, not left in free pages.
      db.exec(
        "pragma synchronous = full; pragma fullfsync = 1; pragma checkpoint_fullfsync = 1; pragma secure_delete = on",
      );
      transact(db, () => {
        const found = Number(db.prepare("pragma user_version").get()?.["user_version"]);
        if (found > version)
          throw new Fault(
            "unreadable",
            `${label.name} was written by a newer version: use that one, or move the file away and ${again}`,
          );
        db.exec(schema);
        if (found < version) db.exec(`pragma user_version = ${version}`);
      });
    });
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    db,
    change: (body) => refusing(label, () => transact(db, body)),
    look: (body) => refusing(label, body),
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

/** The file as only its owner reads it, before SQLite gives its neighbours the same rights. */
function keepPrivate(path: string, label: string): void {
  try {
    writeFileSync(path, "", { mode: 0o600, flag: "wx" });
    return;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST"))
      throw toSystemRefusal(error, label);
  }
  const found = lstatSync(path);
  if (!found.isFile()) throw new Fault("unreadable", `${label} is no regular file: move it away`);
  if (process.getuid && found.uid !== process.getuid())
    throw new Fault("unreadable", `${label} belongs to another user: move it away`);
  if ((found.mode & 0o077) === 0) return;
  try {
    for (const side of [path, `${path}-wal`, `${path}-shm`])
      if (lstatSync(side, { throwIfNoEntry: false })) chmodSync(side, 0o600);
  } catch (error) {
    throw toSystemRefusal(error, label);
  }
}

/** SQLite does not wait for others when it changes the mode of a file. */
async function useWal(db: DatabaseSync, label: Label): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += 20)
    try {
      const mode = db.prepare("pragma journal_mode").get()?.["journal_mode"];
      if (mode !== "wal") db.exec("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyMs) throw refusal(error, label);
      await wait(20);
    }
}

function transact<T>(db: DatabaseSync, body: () => T): T {
  db.exec("begin immediate");
  try {
    const result = body();
    db.exec("commit");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

function refusing<T>(label: Label, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw refusal(error, label);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
}

/** Without what SQLite says: it is told by its code. */
function refusal(error: unknown, { name: label, again }: Label): unknown {
  if (!(error instanceof Error) || Fault.is(error) || !("errcode" in error)) return error;
  const code = Number(error.errcode) & 0xff;
  if (code === 5)
    return new Fault(
      "unavailable",
      `another process is writing to ${label} for too long: stop it, or try again when it is done`,
    );
  if (code === 13)
    return new Fault("unavailable", `the disk of ${label} is full: free some space and try again`);
  if (code === 10)
    return new Fault("unavailable", `the disk of ${label} cannot be read or written: check it`);
  if (code === 11 || code === 26)
    return new Fault(
      "unreadable",
      `${label} is damaged or no SQLite database; nothing was changed: move it away and ${again}`,
    );
  return new Fault(
    "unreadable",
    `${label} cannot be opened for reading and writing: check its rights and its folder's`,
  );
}
