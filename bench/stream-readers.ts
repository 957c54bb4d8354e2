// Many readers of event streams on raw sockets, which only count what arrives.

import { connect, type Socket } from "node:net";
import type { Target } from "./http-load.ts";

const entryMark = Buffer.from("event: entry\n");

export class StreamReaders {
  readonly #sockets: Socket[] = [];
  #delivered = 0;
  #awaited: { total: number; done: () => void } | undefined;
  #failure: Error | undefined;

  /** Opens `count` streams; settles once each has sent its first bytes after the head. */
  static async open(target: Target, count: number): Promise<StreamReaders> {
    const readers = new StreamReaders();
    for (let opened = 0; opened < count; opened += 50) {
      const some = Array.from({ length: Math.min(50, count - opened) }, () =>
        readers.#open(target),
      );
      await Promise.all(some);
    }
    return readers;
  }

  /** Entries that arrived, over all readers. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Settles once that many entries arrived; rejects after a minute. */
  async reach(total: number): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (this.#delivered >= total) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const patience = setTimeout(
      () => reject(new Error(`${this.#delivered} of ${total} entries arrived.`)),
      60_000,
    );
    this.#awaited = { total, done: resolve };
    await promise.finally(() => clearTimeout(patience));
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #open({ port, path, headers }: Target): Promise<void> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = connect({ port, host: "127.0.0.1" });
    this.#sockets.push(socket);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join("")}\r\n`);
    return new Promise((resolve, reject) => {
      let tail: Buffer = Buffer.alloc(0);
      socket.on("error", reject);
      socket.on("data", (chunk) => {
        if (tail.length === 0 && !chunk.toString("latin1", 9, 12).startsWith("2"))
          reject(new Error(`The measured server answered ${chunk.toString("utf8", 0, 400)}`));
        resolve();
        const bytes = Buffer.concat([tail, chunk]);
        this.#count(bytes);
        tail = bytes.subarray(Math.max(0, bytes.length - entryMark.length + 1));
      });
    });
  }

  #count(bytes: Buffer): void {
    for (let at = bytes.indexOf(entryMark); at >= 0; at = bytes.indexOf(entryMark, at + 1))
      this.#delivered++;
    if (this.#awaited && this.#delivered >= this.#awaited.total) {
      this.#awaited.done();
      this.#awaited = undefined;
    }
  }
}
