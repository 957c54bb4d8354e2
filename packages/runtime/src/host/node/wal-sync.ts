// Syncs of the WAL in the thread pool: one covers every commit before it.
//
//   A sync under way may have begun before the newest commit, so everyone who asks meanwhile shares the one after it.
//   After a failure nothing is durable any more: the operating system may have dropped the pages it could not write,
//   so a second sync that succeeds would prove nothing.

import type { FileHandle } from "node:fs/promises";

/** The part of a file that syncing needs. */
export type SyncedFile = Pick<FileHandle, "datasync" | "close">;

export interface WalSyncEvents {
  synced(): void;
  failed(error: unknown): void;
}

export class WalSync {
  readonly #wal: SyncedFile;
  readonly #events: WalSyncEvents;
  #current: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;

  constructor(wal: SyncedFile, events: WalSyncEvents) {
    this.#wal = wal;
    this.#events = events;
  }

  durable(): Promise<void> {
    return (this.#following ??= this.#afterCurrent());
  }

  /** Every promise given out settles before the file is closed. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Whoever asked for these syncs hears of their failure.
    await Promise.allSettled([this.#current, this.#following]);
    await this.#wal.close();
  }

  async #afterCurrent(): Promise<void> {
    await this.#current?.catch(ignore);
    this.#following = undefined;
    this.#current = this.#sync();
    await this.#current;
  }

  async #sync(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    try {
      await this.#wal.datasync();
    } catch (error) {
      this.#failure = { error };
      this.#events.failed(error);
      throw error;
    }
    this.#events.synced();
  }
}

function ignore(): void {}
