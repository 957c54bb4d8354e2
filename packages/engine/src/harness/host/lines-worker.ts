// The thread that parses a harness's large lines: bytes in, a value out, in the order they came.

import { parentPort } from "node:worker_threads";

parentPort?.on("message", (bytes: Uint8Array) => {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    parentPort?.postMessage({ value, isJson: true });
  } catch {
    parentPort?.postMessage({ isJson: false });
  }
});
