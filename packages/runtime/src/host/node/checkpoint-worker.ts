// The worker thread that copies the WAL into the database file, so that the loop never waits for it.
//
// It has a connection of its own and speaks only with `Checkpoints`: any message in asks for one PASSIVE checkpoint, the
// answer says how many frames the WAL has and how many of them are copied.

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const path: unknown = workerData;
if (!parentPort || typeof path !== "string")
  throw new Error("checkpoint-worker runs as a worker thread of the owner");
const port = parentPort;
const db = new DatabaseSync(path, { timeout: 1_000 });
db.exec(
  "pragma synchronous = normal; pragma wal_autocheckpoint = 0; pragma checkpoint_fullfsync = 1",
);
const checkpoint = db.prepare("pragma wal_checkpoint(PASSIVE)");

port.on("message", () => port.postMessage(checkpoint.get()));
