// The thread that parses a harness's large lines: bytes in, a value out for each `end`, in the order they came.

import { parentPort } from "node:worker_threads";

let parts: Uint8Array[] = [];

parentPort?.on("message", (message: Uint8Array | "end" | "drop") => {
  if (message instanceof Uint8Array) return void parts.push(message);
  const bytes = Buffer.concat(parts);
  parts = [];
  if (message === "drop") return;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    parentPort?.postMessage({ value, isJson: true });
  } catch {
    parentPort?.postMessage({ isJson: false });
  }
});
