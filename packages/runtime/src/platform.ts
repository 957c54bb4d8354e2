// What a host lends the runtime beside storage: time, ids and digests. Nothing below `host/` reads a clock by itself.

export interface Platform {
  /** Milliseconds since the epoch. */
  now(): number;
  /** `length` characters of [0-9a-z], unguessable. */
  randomId(length: number): string;
  /** SHA-256 in hex, of UTF-8 text or bytes. */
  sha256(data: string | Uint8Array): string;
  /** The same of bytes that come in parts. */
  digest(): { update(bytes: Uint8Array): void; hex(): string };
  /** Bytes to base64 and back. */
  toBase64(bytes: Uint8Array): string;
  fromBase64(text: string): Uint8Array;
  /** Calls `wake` once after `ms` and never before; the answer cancels it. It does not keep a process alive. */
  after(ms: number, wake: () => void): () => void;
  /** Calls `work` soon, after pending I/O had its turn. */
  soon(work: () => void): void;
  /** Tells of a fault that has no caller: a bug, or a disk that is full just now. The host writes it down and goes on. */
  report(error: unknown): void;
  /**
   * Tells that this owner can write no more: a sync failed, or another owner has taken the store. What it has said
   * holds, and nothing else will: the host ends the process.
   */
  lost(error: unknown): void;
}
