// The rows of a store that its pages still show, known by their shape: neither the table of tables nor a tree is needed.
//
//   Rows of a store are written once, or only move forward (a session's head), so that an old copy of a page can do
//   no harm: the first copy of a row that is found counts, and of a session's the one that went furthest.
//   Entries and parts of blobs are kept as places and read again when they are wanted.

import type { JsonObject, SessionInfo } from "@lichen/wire";
import { SessionId, SessionInfo as SessionInfoSchema } from "@lichen/wire";
import type { EntryRow } from "../../../log/entry-log.ts";
import { eidOf, seqOf, sidOf } from "../../../store/keys.ts";
import type { SqlValue } from "../../../store/sql.ts";
import { type Cell, cellAt, cellCount } from "./cells.ts";
import { FoundCapabilities } from "./found-capabilities.ts";
import type { Pages, Place } from "./pages.ts";

export interface FoundSession {
  readonly sid: number;
  readonly aid: number;
  readonly id: string;
  readonly key: string;
  readonly epoch: string;
  readonly head: number;
  readonly leaf: number | null;
  readonly lastAt: number;
  readonly state: string;
  readonly info: SessionInfo;
  readonly forkedFrom: number | null;
  readonly tools: string | null;
  readonly deleted: number;
}

export interface FoundRequest {
  readonly aid: number;
  readonly session: string;
  readonly request: string;
  readonly sid: number | null;
  readonly digest: string;
  readonly receipt: string | null;
}

export interface FoundAgent {
  readonly name: string;
  readonly createdAt: number;
  /** What is kept of it; undefined where its row was written before there was such a thing. */
  readonly kept?: {
    readonly label: string | null;
    readonly settings: string | null;
    readonly engine: string | null;
    readonly revision: number;
  };
}

interface CellPlace {
  readonly place: Place;
  readonly number: number;
  readonly index: number;
}

/** Row keys below this are a session's or an agent's, never an entry's. */
const smallKeys = 2 ** 23;
const partBytes = 524_288;

export class FoundRows {
  readonly agents = new Map<number, FoundAgent>();
  readonly sessions = new Map<number, FoundSession>();
  /** By agent, session and request. */
  readonly requests = new Map<string, FoundRequest>();
  /** Blobs by session: what each is known as. */
  readonly uses = new Map<number, Map<string, { mimeType: string; bytes: number }>>();
  /** The engine's own name of an approval, by the row key of its question. */
  readonly approvalNames = new Map<number, string>();
  /** What indexes tell of sessions whose row is gone. */
  readonly sessionNames = new Map<number, { aid: number; id: string }>();
  readonly sessionKeys = new Map<number, string>();
  readonly agentNames = new Map<number, string>();
  /** Sessions whose events are numbered, as the table of numbers tells. */
  readonly numbered = new Set<number>();
  readonly capabilities = new FoundCapabilities();
  schema: string | undefined;
  /** Sessions without a row of which an index says that they were deleted. */
  readonly deletedSids = new Set<number>();
  /** Pages that hold something else than they should, wholly or in part. */
  unreadablePages = 0;
  readonly #pages: Pages;
  readonly #entries = new Map<number, Map<number, number>>();
  readonly #parts = new Map<string, Map<number, number>>();
  readonly #places: CellPlace[] = [];

  constructor(pages: Pages) {
    this.#pages = pages;
    for (const { place, number } of pages.places()) this.#readPage(place, number);
  }

  /** The sessions of which anything is left. */
  sids(): number[] {
    return [...new Set([...this.sessions.keys(), ...this.#entries.keys()])].toSorted(
      (a, b) => a - b,
    );
  }

  /** The numbers of the entries that were found, in order. */
  seqs(sid: number): number[] {
    return [...(this.#entries.get(sid)?.keys() ?? [])].toSorted((a, b) => a - b);
  }

  entry(sid: number, seq: number): EntryRow | undefined {
    const at = this.#entries.get(sid)?.get(seq);
    const cell = at === undefined ? undefined : this.#cell(at);
    return cell && entryIn(cell);
  }

  /** The parts of a blob in their order, as they are found: whether they are the blob is the reader's question. */
  *parts(sha256: string): Generator<Uint8Array> {
    const parts = this.#parts.get(sha256);
    for (let part = 0; parts?.has(part); part++) {
      const bytes = this.#cell(parts.get(part)!)?.values[2];
      if (!(bytes instanceof Uint8Array)) return;
      yield bytes;
    }
  }

  #cell(at: number): Cell | undefined {
    const { place, number, index } = this.#places[at]!;
    return cellAt(this.#pages, { place, number }, index);
  }

  #readPage(place: Place, number: number): void {
    const page = this.#pages.at(place);
    const cells = page && cellCount(page, number);
    if (page === undefined || cells === undefined) {
      if (page === undefined || !isOther(page, number)) this.unreadablePages++;
      return;
    }
    let isWhole = true;
    for (let index = 0; index < cells; index++) {
      const cell = cellAt(this.#pages, { place, number }, index, page);
      if (cell) this.#take(cell, { place, number, index });
      else isWhole = false;
    }
    if (!isWhole) this.unreadablePages++;
  }

  #take(cell: Cell, at: CellPlace): void {
    const { rowid, values } = cell;
    if (rowid === undefined) this.#takeKeyed(values);
    else if (values.length === 9) this.#takeEntry(cell, at);
    else if (values.length === 14) this.#takeSession(rowid, values);
    else if (values.length === 7) this.#takeAgent(rowid, values);
    else if (values.length === 8) this.capabilities.takePart(values);
    else if (values.length === 6) this.#takeApproval(rowid, values);
    else if (values.length === 3) this.#takeAgentOrPart(rowid, values, at);
  }

  #takeEntry(cell: Cell, at: CellPlace): void {
    const row = entryIn(cell);
    if (!row) return;
    const entries = this.#entries.get(sidOf(row.eid)) ?? new Map<number, number>();
    this.#entries.set(sidOf(row.eid), entries);
    if (!entries.has(seqOf(row.eid))) entries.set(seqOf(row.eid), this.#keep(at));
  }

  #takeSession(rowid: number, values: readonly SqlValue[]): void {
    const found = sessionIn(rowid, values);
    const known = this.sessions.get(rowid);
    if (!found || (known && !isFurther(found, known))) return;
    this.sessions.set(rowid, found);
  }

  #takeApproval(rowid: number, [own, cid, name, state]: readonly SqlValue[]): void {
    const isOne =
      own === null && typeof cid === "number" && typeof name === "string" && isText(state);
    if (isOne && sidOf(cid) === sidOf(rowid) && !this.approvalNames.has(rowid))
      this.approvalNames.set(rowid, name);
  }

  #takeAgent(rowid: number, values: readonly SqlValue[]): void {
    const [own, name, createdAt, label, settings, engine, revision] = values;
    if (own !== null || rowid >= smallKeys || !isText(name) || !isWhole(createdAt)) return;
    if (!isTextOrNull(label) || !isTextOrNull(settings) || !isTextOrNull(engine)) return;
    if (!isWhole(revision) || (settings !== null && !isObject(settings))) return;
    // Of several copies the newest counts: what was changed or removed does not come back.
    const known = this.agents.get(rowid);
    if (known && (known.kept?.revision ?? -1) >= revision) return;
    this.agents.set(rowid, { name, createdAt, kept: { label, settings, engine, revision } });
  }

  #takeAgentOrPart(rowid: number, values: readonly SqlValue[], at: CellPlace): void {
    const [first, second, third] = values;
    if (rowid < smallKeys) this.capabilities.takeGrants(rowid, values);
    if (first === null && isText(second) && isWhole(third) && rowid < smallKeys) {
      if (!this.agents.has(rowid)) this.agents.set(rowid, { name: second, createdAt: third });
      return;
    }
    if (!isSha256(first) || !isWhole(second) || !(third instanceof Uint8Array)) return;
    if (third.length > partBytes) return;
    const parts = this.#parts.get(first) ?? new Map<number, number>();
    this.#parts.set(first, parts);
    if (!parts.has(second)) parts.set(second, this.#keep(at));
  }

  /** Tables that have no row ids, and indexes. */
  #takeKeyed(values: readonly SqlValue[]): void {
    const [first, second, third, fourth, digest, receipt] = values;
    if (values.length === 6) {
      if (!isWhole(first) || !isText(second) || !isText(third) || !isText(digest)) return;
      if (fourth !== null && !isWhole(fourth)) return;
      if (second !== "" && !SessionId.safeParse(second).success) return;
      if (receipt !== null && !(isText(receipt) && isObject(receipt))) return;
      const row = { aid: first, session: second, request: third, sid: fourth, digest, receipt };
      const key = requestKey(row);
      if (!this.requests.has(key)) this.requests.set(key, row as FoundRequest);
    } else if (values.length === 4) {
      if (!isWhole(first) || !isSha256(second) || !isText(third) || !isWhole(fourth)) return;
      const uses = this.uses.get(first) ?? new Map<string, { mimeType: string; bytes: number }>();
      this.uses.set(first, uses);
      if (!uses.has(second)) uses.set(second, { mimeType: third, bytes: fourth });
    } else if (values.length === 3) {
      const isEvent = isWhole(first) && isWhole(second) && isWhole(third) && second > 0;
      if (isEvent && third > eidOf(1, 0) && sidOf(third) === first) this.numbered.add(first);
      const isName = isWhole(first) && first < smallKeys && isText(second) && isWhole(third);
      const isState = second === "queued" || second === "running" || second === "waiting";
      if (isName && third < smallKeys && !isState && !this.sessionNames.has(third))
        this.sessionNames.set(third, { aid: first, id: second });
    } else if (values.length === 2) {
      if (first === "schema" && isText(second)) this.schema ??= second;
      // Or the index of forks says that it was forked from session 1: its first message tells.
      else if (first === 1 && isWhole(second) && second < smallKeys) this.deletedSids.add(second);
      else if (isText(first) && isWhole(second) && second < smallKeys) {
        if (/^[0-9a-z]{12}$/.test(first)) this.sessionKeys.set(second, first);
        this.agentNames.set(second, first);
      }
    }
  }

  #keep(at: CellPlace): number {
    return this.#places.push(at) - 1;
  }
}

export function requestKey(row: Pick<FoundRequest, "aid" | "session" | "request">): string {
  return JSON.stringify([row.aid, row.session, row.request]);
}

function entryIn({ rowid, values }: Cell): EntryRow | undefined {
  const [own, at, kind, command, request, parent, author, data, meta] = values;
  if (rowid === undefined || own !== null || !Number.isSafeInteger(rowid)) return undefined;
  const isKeyed = rowid > eidOf(1, 0) && seqOf(rowid) > 0 && sidOf(rowid) < smallKeys;
  if (!isKeyed || !isWhole(at) || at > 8.64e15 || !isText(kind)) return undefined;
  if (!/^[a-z]+(?:[._][a-z]+)*$/.test(kind) || !isText(data) || !isObject(data)) return undefined;
  if (command !== null && !(isWhole(command) && command > 0)) return undefined;
  if (parent !== null && !(isWhole(parent) && parent > eidOf(1, 0))) return undefined;
  if (!isTextOrNull(request) || !isTextOrNull(author) || !isTextOrNull(meta)) return undefined;
  if (isText(meta) && !isObject(meta)) return undefined;
  return { eid: rowid, at, kind, command, request, parent, author, data, meta };
}

function sessionIn(sid: number, values: readonly SqlValue[]): FoundSession | undefined {
  const [own, aid, id, key, epoch, head, leaf, lastAt, state, text, forkedFrom, , tools, deleted] =
    values;
  if (own !== null || sid >= smallKeys || !isWhole(aid) || !isText(id) || !isText(key))
    return undefined;
  if (!SessionId.safeParse(id).success || !/^[0-9a-z]+$/.test(key)) return undefined;
  if (!isText(epoch) || !isWhole(head) || !isWhole(lastAt) || !isText(state)) return undefined;
  if (!isText(text) || !isWholeOrNull(leaf) || !isWholeOrNull(forkedFrom)) return undefined;
  if (!isTextOrNull(tools) || !isWhole(deleted) || deleted > 2) return undefined;
  const info = SessionInfoSchema.safeParse(objectIn(text));
  if (!info.success || info.data.session !== id || info.data.epoch !== epoch) return undefined;
  return {
    ...{ sid, aid, id, key, epoch, head, leaf, lastAt, state, forkedFrom, tools, deleted },
    // Members that this version does not know stay.
    info: objectIn(text) as unknown as SessionInfo,
  };
}

function isFurther(found: FoundSession, known: FoundSession): boolean {
  if (found.deleted !== known.deleted) return found.deleted > known.deleted;
  return found.head > known.head;
}

/** A page that holds no rows by itself: an inner page, or what overflows a row. */
function isOther(page: Buffer, number: number): boolean {
  const kind = page[number === 1 ? 100 : 0];
  return kind === 0x05 || (kind === 0x00 && page.some((byte) => byte !== 0));
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
    return value as JsonObject;
  } catch {
    return undefined;
  }
}

function isObject(text: string): boolean {
  return objectIn(text) !== undefined;
}

function isText(value: SqlValue | undefined): value is string {
  return typeof value === "string";
}

function isTextOrNull(value: SqlValue | undefined): value is string | null {
  return value === null || typeof value === "string";
}

function isWhole(value: SqlValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isWholeOrNull(value: SqlValue | undefined): value is number | null {
  return value === null || isWhole(value);
}

function isSha256(value: SqlValue | undefined): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}
