// The rows in a page of a SQLite database, whatever table they are of. A cell that does not add up is left out.

import type { SqlValue } from "../../../store/sql.ts";
import type { Pages, Place } from "./pages.ts";

export interface Cell {
  /** Undefined in an index, and in a table without row ids. */
  readonly rowid: number | undefined;
  readonly values: readonly SqlValue[];
}

/** No row of a store is larger. */
const payloadBytes = 4 * 1_048_576;
const tableLeaf = 0x0d;
const indexLeaf = 0x0a;
const indexInner = 0x02;

/** How many cells a page names; undefined where it is no page of rows. */
export function cellCount(page: Buffer, number: number): number | undefined {
  const head = number === 1 ? 100 : 0;
  const kind = page[head];
  if (kind !== tableLeaf && kind !== indexLeaf && kind !== indexInner) return undefined;
  const cells = page.readUInt16BE(head + 3);
  return head + 12 + cells * 2 > page.length ? undefined : cells;
}

/** One cell of the page at `place`; undefined where it cannot be read whole. */
export function cellAt(
  pages: Pages,
  { place, number }: { readonly place: Place; readonly number: number },
  index: number,
  page: Buffer | undefined = pages.at(place),
): Cell | undefined {
  if (page === undefined || index >= (cellCount(page, number) ?? 0)) return undefined;
  try {
    return decoded(pages, page, number === 1 ? 100 : 0, index);
  } catch {
    // What points outside of its page, or is no text, is what damage looks like.
    return undefined;
  }
}

function decoded(pages: Pages, page: Buffer, head: number, index: number): Cell | undefined {
  const kind = page[head]!;
  const pointers = head + (kind === indexInner ? 12 : 8);
  let at = page.readUInt16BE(pointers + index * 2);
  if (at < pointers) return undefined;
  if (kind === indexInner) at += 4;
  const size = varint(page, at);
  at = size.next;
  let rowid: number | undefined;
  if (kind === tableLeaf) {
    const id = varint(page, at);
    rowid = id.value;
    at = id.next;
  }
  if (size.value > payloadBytes) return undefined;
  const payload = payloadAt(pages, page, at, size.value, kind === tableLeaf);
  return payload && { rowid, values: valuesOf(payload) };
}

/** The bytes of a row, with those that stand in further pages. */
function payloadAt(
  pages: Pages,
  page: Buffer,
  at: number,
  size: number,
  isTable: boolean,
): Buffer | undefined {
  const usable = page.length;
  const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (size <= most) return at + size <= usable ? page.subarray(at, at + size) : undefined;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = least + ((size - least) % (usable - 4));
  const local = wanted <= most ? wanted : least;
  if (at + local + 4 > usable) return undefined;
  const payload = Buffer.alloc(size);
  let done = page.copy(payload, 0, at, at + local);
  let next = page.readUInt32BE(at + local);
  while (done < size) {
    const more = pages.newest(next);
    if (more === undefined) return undefined;
    done += more.copy(payload, done, 4, Math.min(usable, 4 + size - done));
    next = more.readUInt32BE(0);
  }
  return payload;
}

function valuesOf(payload: Buffer): SqlValue[] {
  const head = varint(payload, 0);
  if (head.value > payload.length) throw new RangeError("a row's header is longer than the row");
  const values: SqlValue[] = [];
  let at = head.next;
  let body = head.value;
  while (at < head.value) {
    const type = varint(payload, at);
    at = type.next;
    const bytes = bytesOf(type.value);
    if (body + bytes > payload.length) throw new RangeError("a row is shorter than its header");
    values.push(valueOf(type.value, payload.subarray(body, body + bytes)));
    body += bytes;
  }
  return values;
}

function bytesOf(type: number): number {
  if (type >= 12) return Math.floor((type - 12) / 2);
  const bytes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type];
  if (bytes === undefined) throw new RangeError("no such type of value");
  return bytes;
}

function valueOf(type: number, bytes: Buffer): SqlValue {
  if (type >= 12) {
    if (type % 2 === 0) return bytes;
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  }
  if (type === 0) return null;
  if (type === 7) return bytes.readDoubleBE(0);
  if (type === 8 || type === 9) return type - 8;
  return type === 6 ? Number(bytes.readBigInt64BE(0)) : bytes.readIntBE(0, bytes.length);
}

function varint(bytes: Buffer, at: number): { value: number; next: number } {
  let value = 0;
  for (let index = 0; index < 9; index++) {
    const byte = bytes.readUInt8(at + index);
    if (index === 8) return { value: value * 256 + byte, next: at + 9 };
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: at + index + 1 };
  }
  throw new RangeError("no number");
}
