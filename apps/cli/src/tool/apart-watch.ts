// Beside the thread in which the code of an agent's folder runs, and awake while that never gives way: ends the process, and
// what it has started, with the one that waits for its answer.

import { Socket } from "node:net";
import { workerData } from "node:worker_threads";

const other = new Socket({ fd: Number(workerData), readable: true, writable: false });
other.on("error", () => undefined);
other.on("close", () => process.kill(-process.pid, "SIGKILL"));
other.resume();
