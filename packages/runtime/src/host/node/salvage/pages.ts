// The pages of a SQLite database, read without SQLite: also those of a file that it refuses to open.
//
//   Nothing is written and no lock is taken; what the disk does not give is no page, and never thrown.
//   A page is what the newest whole transaction of the WAL made it, else what stands in the file. Older versions, and
//   frames behind a broken one, are told apart: what they hold counts only where nothing better is found.

import { closeSync, fstatSync, openSync } from "node:fs";
import { read } from "./read.ts";
import { walIndex, type WalIndex } from "./wal.ts";

/** What every store is made with. A header that says something else is damaged; a WAL's is under its checksum. */
const usualPageBytes = 4_096;
const magic = "SQLite format 3\0";

/** Where a page stands: an even number in the database file, an odd one in the WAL. */
export type Place = number;

export class Pages {
  readonly pageBytes: number;
  /** How many pages the file has room for. */
  readonly count: number;
  /** Whether the WAL breaks off before its end: the newest commits are lost then. */
  readonly isCut: boolean;
  readonly #file: number;
  readonly #walFile: number | undefined;
  readonly #wal: WalIndex | undefined;

  private constructor(file: number, walFile: number | undefined) {
    this.#file = file;
    this.#walFile = walFile;
    this.#wal = walFile === undefined ? undefined : walIndex(walFile);
    this.isCut = this.#wal?.isCut ?? false;
    this.pageBytes = this.#wal?.pageBytes ?? usualPageBytes;
    this.count = Math.ceil(fstatSync(file).size / this.pageBytes);
  }

  static open(path: string): Pages {
    const file = openSync(path, "r");
    try {
      return new Pages(file, openIfThere(`${path}-wal`));
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#file);
    if (this.#walFile !== undefined) closeSync(this.#walFile);
  }

  /** How many pages the header promises that neither the file nor the WAL has. */
  get missing(): number {
    const first = this.newest(1);
    const promised = this.#isHeader(first) ? first.readUInt32BE(28) : 0;
    // A damaged number is no reason to believe in pages that nobody ever wrote.
    if (promised > this.count * 1_000 + 1_000) return 0;
    let missing = 0;
    for (let number = this.count + 1; number <= promised; number++)
      if (!this.#wal?.newest.has(number)) missing++;
    return missing;
  }

  /** Every page that may hold rows, the best known first. Pages that the database gave back are left out. */
  *places(): Generator<{ place: Place; number: number }> {
    const free = this.#freePages();
    const stale: { place: Place; number: number }[] = [];
    for (let number = 1; number <= this.count; number++) {
      if (free.has(number)) continue;
      const found = { place: inFile(number), number };
      if (this.#wal?.newest.has(number)) stale.push(found);
      else yield found;
    }
    for (const [number, frame] of this.#wal?.newest ?? [])
      if (!free.has(number)) yield { place: inWal(frame), number };
    yield* stale;
    for (const { frame, number } of this.#wal?.loose ?? []) yield { place: inWal(frame), number };
  }

  /** The bytes at a place; undefined where the disk does not give them. A page that is cut short ends in zeros. */
  at(place: Place): Buffer | undefined {
    const isWal = place % 2 === 1;
    const index = Math.floor(place / 2);
    return isWal && this.#walFile !== undefined
      ? read(this.#walFile, 32 + index * (this.pageBytes + 24) + 24, this.pageBytes)
      : read(this.#file, index * this.pageBytes, this.pageBytes);
  }

  /** The page as it stands after the newest whole transaction. */
  newest(number: number): Buffer | undefined {
    const frame = this.#wal?.newest.get(number);
    if (frame !== undefined) return this.at(inWal(frame));
    return number >= 1 && number <= this.count ? this.at(inFile(number)) : undefined;
  }

  /** What the header's list says is in no use; empty where it cannot be read. */
  #freePages(): ReadonlySet<number> {
    const free = new Set<number>();
    const first = this.newest(1);
    if (!this.#isHeader(first)) return free;
    let trunk = first.readUInt32BE(32);
    while (trunk > 1 && !free.has(trunk)) {
      const page = this.newest(trunk);
      if (page === undefined) break;
      const leaves = page.readUInt32BE(4);
      // A trunk that cannot be one is damaged: nothing of what it says is believed.
      if (leaves > this.pageBytes / 4 - 2) break;
      free.add(trunk);
      for (let leaf = 0; leaf < leaves; leaf++) free.add(page.readUInt32BE(8 + leaf * 4));
      trunk = page.readUInt32BE(0);
    }
    return free;
  }

  /** Whether a first page begins as that of a store does: then the rest of its header is believed. */
  #isHeader(first: Buffer | undefined): first is Buffer {
    if (first === undefined || first.toString("latin1", 0, 16) !== magic) return false;
    const named = first.readUInt16BE(16);
    return (named === 1 ? 65_536 : named) === this.pageBytes;
  }
}

function inFile(number: number): Place {
  return (number - 1) * 2;
}

function inWal(frame: number): Place {
  return frame * 2 + 1;
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    // Without a WAL the file is all there is.
    return undefined;
  }
}
