// `credentials.db`: the sign-ins of agents' connections, in one SQLite file that any process of this user may open.
//
//   Readable by its owner only. Every change is one transaction, on the disk when it returns; none waits longer than
//   five seconds for another process. Only SQLite opens the file, whose locks end where anybody else closes it.

import { chmodSync, lstatSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { makeFolder, networkFileSystemAt, toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";
import type { TokenStore } from "../token-store.ts";
import { AgentTokens } from "./agent-tokens.ts";

export interface Credentials {
  /** What is kept for one agent. */
  of(agentId: string): TokenStore;
  /** Safe to call twice. */
  close(): void;
}

const busyMs = 5_000;
const schemaVersion = 1;

const schema = `
  create table if not exists login (
    agent text not null, capability text not null, version integer not null,
    type text, issuer text, client_id text, resource text, indicator text,
    access text, refresh text, expires_at integer, scopes text, refused integer not null default 0,
    primary key (agent, capability)
  ) strict;
  create table if not exists lease (
    agent text not null, capability text not null, fence integer not null,
    owner text, expires_at integer not null default 0, failure text,
    primary key (agent, capability)
  ) strict;
  create table if not exists registration (
    agent text not null, capability text not null, issuer text not null, client_id text not null, client_secret text,
    secret_expires_at integer, auth_method text not null, redirect_uri text not null,
    primary key (agent, capability)
  ) strict;
`;

/** Opens the file, or makes it. Throws a `Fault`. */
export async function openCredentials(path: string): Promise<Credentials> {
  const label = basename(path);
  makeFolder(dirname(path), `the folder of ${label}`);
  const network = await networkFileSystemAt(dirname(path));
  if (network !== undefined)
    throw new Fault(
      "unreadable",
      `${label} would lie on a network file system (${network}), where locks between processes do not hold: choose a state directory on a local disk`,
    );
  keepPrivate(path, label);
  const db = refusing(label, () => new DatabaseSync(path, { timeout: busyMs }));
  try {
    await useWal(db, label);
    refusing(label, () => {
      // What is replaced or signed out is overwritten, not left in free pages.
      db.exec(
        "pragma synchronous = full; pragma fullfsync = 1; pragma checkpoint_fullfsync = 1; pragma secure_delete = on",
      );
      transact(db, () => {
        const found = Number(db.prepare("pragma user_version").get()?.["user_version"]);
        if (found > schemaVersion)
          throw new Fault(
            "unreadable",
            `${label} was written by a newer version: use that one, or move the file away and sign in again`,
          );
        db.exec(schema);
        if (found < schemaVersion) db.exec(`pragma user_version = ${schemaVersion}`);
      });
    });
  } catch (error) {
    db.close();
    throw error;
  }
  const close = (): void => {
    if (db.isOpen) db.close();
  };
  const guarded = {
    change: <T>(body: () => T): T => refusing(label, () => transact(db, body)),
    look: <T>(body: () => T): T => refusing(label, body),
  };
  return { of: (agentId) => new AgentTokens(db, agentId, guarded), close };
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
async function useWal(db: DatabaseSync, label: string): Promise<void> {
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

function refusing<T>(label: string, body: () => T): T {
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
function refusal(error: unknown, label: string): unknown {
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
      `${label} is damaged or no SQLite database; nothing was changed: move it away and sign in again`,
    );
  return new Fault(
    "unreadable",
    `${label} cannot be opened for reading and writing: check its rights and its folder's`,
  );
}
