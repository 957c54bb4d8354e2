// Time, ids and digests from Node.

import { createHash, randomBytes } from "node:crypto";
import type { Platform } from "../../platform.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would favour the alphabet's first letters. */
const evenBytes = 252;
/** A longer delay overflows Node's timers. */
const longestTimerMs = 2_147_483_647;

export function nodePlatform(options: { readonly report: (error: unknown) => void }): Platform {
  return {
    now: () => Date.now(),
    randomId,
    sha256: (data) => createHash("sha256").update(data).digest("hex"),
    toBase64: (bytes) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    fromBase64: (text) => Buffer.from(text, "base64"),
    after,
    soon: (work) => void setImmediate(work),
    report: options.report,
  };
}

function randomId(length: number): string {
  let id = "";
  while (id.length < length)
    for (const byte of randomBytes(length - id.length))
      if (byte < evenBytes) id += alphabet[byte % alphabet.length];
  return id;
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
