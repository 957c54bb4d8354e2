// What a WAL holds: the newest frame of each page of its whole transactions, as SQLite would recover it, and the frames
// behind a broken one.

import { fstatSync } from "node:fs";
import { read } from "./read.ts";

const headerBytes = 32;
const frameHeaderBytes = 24;

export interface WalIndex {
  readonly pageBytes: number;
  /** Frame by page. */
  readonly newest: ReadonlyMap<number, number>;
  /** Frames of this WAL that its checksums do not reach, newest first. */
  readonly loose: readonly { readonly frame: number; readonly number: number }[];
  readonly isCut: boolean;
}

/** Undefined where the file is empty or holds no WAL of which anything is left. */
export function walIndex(file: number): WalIndex | undefined {
  const { size } = fstatSync(file);
  const header = size < headerBytes ? undefined : read(file, 0, headerBytes);
  if (header === undefined) return undefined;
  const kind = header.readUInt32BE(0);
  const pageBytes = header.readUInt32BE(8);
  const sums = new Checksum((kind & 1) === 1);
  sums.add(header.subarray(0, 24));
  const isSound =
    (kind & ~1) >>> 0 === 0x377f0682 &&
    pageBytes >= 512 &&
    pageBytes <= 65_536 &&
    (pageBytes & (pageBytes - 1)) === 0 &&
    sums.equals(header.subarray(24));
  if (!isSound) {
    // Whatever stood in it is out of reach, and may have been the newest of all.
    return { pageBytes: 4_096, newest: new Map(), loose: [], isCut: size > headerBytes };
  }
  const salt = header.subarray(16, 24);
  const newest = new Map<number, number>();
  const loose: { frame: number; number: number }[] = [];
  let open = new Map<number, number>();
  let isWhole = true;
  const frames = Math.floor((size - headerBytes) / (pageBytes + frameHeaderBytes));
  for (let frame = 0; frame < frames; frame++) {
    const at = headerBytes + frame * (pageBytes + frameHeaderBytes);
    const bytes = read(file, at, pageBytes + frameHeaderBytes);
    // A frame of an earlier round was copied into the database long ago.
    if (bytes === undefined || !bytes.subarray(8, 16).equals(salt)) {
      if (isWhole && bytes !== undefined && !hasLater(file, frame, frames, pageBytes, salt)) break;
      isWhole = false;
      continue;
    }
    const number = bytes.readUInt32BE(0);
    if (isWhole) {
      sums.add(bytes.subarray(0, 8));
      sums.add(bytes.subarray(frameHeaderBytes));
      isWhole = sums.equals(bytes.subarray(16, 24));
    }
    if (!isWhole) {
      loose.unshift({ frame, number });
      continue;
    }
    open.set(number, frame);
    if (bytes.readUInt32BE(4) === 0) continue;
    for (const [page, last] of open) newest.set(page, last);
    open = new Map();
  }
  return { pageBytes, newest, loose, isCut: !isWhole };
}

/** Whether a frame of this round stands behind one that is none: then that one was overwritten. */
function hasLater(
  file: number,
  from: number,
  frames: number,
  pageBytes: number,
  salt: Buffer,
): boolean {
  for (let frame = from + 1; frame < frames; frame++) {
    const at = headerBytes + frame * (pageBytes + frameHeaderBytes);
    if (read(file, at + 8, 8)?.equals(salt)) return true;
  }
  return false;
}

/** The WAL's running checksum. */
class Checksum {
  readonly #isBigEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at + 8 <= bytes.length; at += 8) {
      this.#first = (this.#first + view.getUint32(at, !this.#isBigEndian) + this.#second) >>> 0;
      this.#second =
        (this.#second + view.getUint32(at + 4, !this.#isBigEndian) + this.#first) >>> 0;
    }
  }

  equals(stored: Buffer): boolean {
    return stored.readUInt32BE(0) === this.#first && stored.readUInt32BE(4) === this.#second;
  }
}
