// A Durable Object's database and its time, ids and digests.
//
// Cloudflare's storage nests transactions by itself and refuses the words for them. It would store `true` as text and
// `undefined` as null, so neither reaches it. A timer lives only as long as the object does: the host is told when the
// earliest one is due and sets an alarm for it.

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Platform } from "../platform.ts";
import type { Sql, SqlValue } from "../store/sql.ts";

/** The parts of a Durable Object's storage we use, so that this file needs no Worker types. */
export interface DurableStorage {
  readonly sql: { exec(statement: string, ...args: SqlValue[]): { toArray(): unknown[] } };
  transactionSync<T>(body: () => T): T;
  sync(): Promise<void>;
}

/** The database inside a Durable Object. */
export function sqlOf(storage: DurableStorage): Sql {
  let depth = 0;
  const rows = (statement: string, args: readonly SqlValue[]): unknown[] => {
    for (const value of args)
      if (typeof value === "boolean" || typeof value === "bigint" || value === undefined)
        throw new TypeError(`a parameter of SQL is a ${typeof value}`);
    return storage.sql.exec(statement, ...args).toArray();
  };
  return {
    run: (statement, ...args) => void rows(statement, args),
    all: <Row>(statement: string, ...args: SqlValue[]) => rows(statement, args).map(toRow) as Row[],
    transact(body) {
      depth++;
      try {
        // The port's type keeps promises out of the body; what is left is the body's own result.
        return storage.transactionSync(body) as never;
      } finally {
        depth--;
      }
    },
    inTransaction: () => depth > 0,
    durable: () => storage.sync(),
  };
}

/** Blobs arrive as ArrayBuffer here. */
function toRow(row: unknown): unknown {
  if (row === null || typeof row !== "object") return row;
  const columns: Record<string, unknown> = { ...row };
  for (const [name, value] of Object.entries(columns))
    if (value instanceof ArrayBuffer) columns[name] = new Uint8Array(value);
  return columns;
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would favour the alphabet's first letters. */
const evenBytes = 252;
/** A longer delay overflows the timers. */
const longestTimerMs = 2_147_483_647;

export interface CloudflareOptions {
  readonly report: (error: unknown) => void;
  /** Told when the earliest timer is due, or undefined when none waits: sets or deletes the object's alarm. */
  readonly alarm?: (at: number | undefined) => void;
}

/** Needs the compatibility flag `nodejs_compat`, for digests that are not asynchronous and for base64. */
export function cloudflarePlatform(options: CloudflareOptions): Platform {
  const due = new Set<{ readonly at: number }>();
  let told: number | undefined;
  const tell = (): void => {
    const earliest = due.size === 0 ? undefined : Math.min(...[...due].map((it) => it.at));
    if (earliest === told) return;
    told = earliest;
    options.alarm?.(earliest);
  };
  return {
    now: () => Date.now(),
    randomId,
    sha256: (data) => createHash("sha256").update(data).digest("hex"),
    digest: () => {
      const digest = createHash("sha256");
      return { update: (bytes) => void digest.update(bytes), hex: () => digest.digest("hex") };
    },
    toBase64: (bytes) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    fromBase64: (text) => Buffer.from(text, "base64"),
    after(ms, wake) {
      const entry = { at: Date.now() + ms };
      due.add(entry);
      tell();
      let timer: ReturnType<typeof setTimeout>;
      const wait = (): void => {
        const left = entry.at - Date.now();
        if (left > 0) {
          timer = setTimeout(wait, Math.min(left, longestTimerMs));
          return;
        }
        due.delete(entry);
        tell();
        wake();
      };
      timer = setTimeout(wait, Math.min(Math.max(0, ms), longestTimerMs));
      return () => {
        clearTimeout(timer);
        if (due.delete(entry)) tell();
      };
    },
    soon: (work) => void setTimeout(work, 0),
    report: options.report,
    lost: options.report,
  };
}

function randomId(length: number): string {
  let id = "";
  while (id.length < length)
    for (const byte of crypto.getRandomValues(new Uint8Array(length - id.length)))
      if (byte < evenBytes) id += alphabet[byte % alphabet.length];
  return id;
}
