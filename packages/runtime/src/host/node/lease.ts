// The lease: at most one living process owns a store.
//
// An exclusive lock that SQLite holds on a file beside the store. The operating system frees it when the process dies,
// however it dies; a stopped process keeps it. Only SQLite opens the file: any other open and close of it in this
// process would drop the lock. The file stays behind on release, since removing it would let two owners in.

import { chmod } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@lichen/wire";
import { refuseNetworkFileSystem } from "./file-system.ts";
import { makeFolder } from "./folder.ts";
import { isBusy, toRefusal } from "./sqlite-refusal.ts";

export interface Lease {
  release(): void;
}

/** Takes the lease of the store at `path`, or refuses at once with `unavailable` while another owner lives. */
export async function acquireLease(path: string): Promise<Lease> {
  const label = basename(path);
  makeFolder(dirname(path), `the folder of the store ${label}`);
  await refuseNetworkFileSystem(dirname(path), label);
  const file = `${path}-lease`;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    await chmod(file, 0o600);
    db.exec("begin exclusive");
  } catch (error) {
    db?.close();
    if (!isBusy(error)) throw toRefusal(error, label);
    throw new Fault(
      "unavailable",
      `the store ${label} is in use by another process that still lives: stop that one (a stopped process must be continued or killed), then start again`,
      { cause: error, retryable: true },
    );
  }
  let held: DatabaseSync | undefined = db;
  return {
    release() {
      held?.close();
      held = undefined;
    },
  };
}
