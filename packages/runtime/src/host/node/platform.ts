// Time, ids and digests from Node.

import { createHash, hash, randomFillSync } from "node:crypto";
import type { Platform } from "../../platform.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would favour the alphabet's first letters. */
const evenBytes = 252;
/** A longer delay overflows Node's timers. */
const longestTimerMs = 2_147_483_647;

export interface NodePlatformOptions {
  readonly report: (error: unknown) => void;
  /** Where it is left out, `report` is told of that too. */
  readonly lost?: (error: unknown) => void;
}

export function nodePlatform(options: NodePlatformOptions): Platform {
  return {
    now: () => Date.now(),
    randomId: randomIds(),
    sha256: (data) => hash("sha256", data, "hex"),
    digest: () => {
      const digest = createHash("sha256");
      return { update: (bytes) => void digest.update(bytes), hex: () => digest.digest("hex") };
    },
    toBase64: (bytes) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    fromBase64: (text) => Buffer.from(text, "base64"),
    after,
    soon: (work) => void setImmediate(work),
    report: options.report,
    lost: options.lost ?? options.report,
  };
}

// Bytes are drawn by the page: asking the system for twelve costs as much as asking for hundreds.
function randomIds(): (length: number) => string {
  const bytes = new Uint8Array(1_024);
  let next = bytes.length;
  return (length) => {
    let id = "";
    while (id.length < length) {
      if (next === bytes.length) {
        randomFillSync(bytes);
        next = 0;
      }
      const byte = bytes[next]!;
      // A byte that was used is no longer there to be found.
      bytes[next++] = 0;
      if (byte < evenBytes) id += alphabet[byte % alphabet.length];
    }
    return id;
  };
}

function after(ms: number, wake: () => void): () => void {
  // The steady clock: a correction of the wall clock neither wakes too early nor delays.
  const due = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = Math.ceil(due - performance.now());
    if (left <= 0) wake();
    else timer = setTimeout(wait, Math.min(left, longestTimerMs)).unref();
  };
  timer = setTimeout(wait, Math.min(Math.max(0, Math.ceil(ms)), longestTimerMs)).unref();
  return () => clearTimeout(timer);
}
