// Copies of a closed store: every round begins with the same bytes.

import { copyFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Brings everything into the database file, so that copying it copies the store. Nobody may have it open. */
export function settleStore(path: string): void {
  const db = new DatabaseSync(path);
  db.exec("pragma journal_mode = wal; pragma wal_checkpoint(truncate)");
  db.close();
}

export function copyStore(from: string, to: string): string {
  removeStore(to);
  copyFileSync(from, to);
  return to;
}

export function removeStore(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-lease"]) rmSync(`${path}${suffix}`, { force: true });
}

/**
 * Moves a session that has no entries to a number no other value in its store is, and makes the next new session's
 * number the one after.
 */
export function renumberEmptySession(path: string, session: string, sid: number): void {
  const db = new DatabaseSync(path);
  db.prepare("update session set sid = ? where id = ? and head = 0").run(sid, session);
  db.prepare("update request set sid = ? where session = ?").run(sid, session);
  db.close();
}
