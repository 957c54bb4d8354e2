// Search: which messages of a session contain a text, newest first.
//
//   "Contains" looks past case and accents, in any script, whichever way the text composes its characters.
//   The index follows the log by a cursor per session, in slices after the commit; what it has not reached is scanned,
//   so an answer never lags behind the log. The index holds no text: snippets are built from the entries.
//   A query of one or two characters cannot use trigrams: it scans the newest messages, a bounded number of bytes.
//
// A row of the index has the row key of its entry, so a session is a range of them: the range finds the newest hits of
// a small session beside a huge one without looking at that one's. Both ends of the range must reach FTS5 as integers
// (drivers bind numbers as reals), or it walks the whole index; hence the casts.

import type { Found } from "@lichen/wire";
import { eidOf, eidRange, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { readBlob } from "./blob.ts";
import { fold, snippetAround } from "./folded-text.ts";

export const searchTables: readonly string[] = [
  "create virtual table search using fts5(text, content='', contentless_delete=1, tokenize='trigram remove_diacritics 1')",
  "create table search_cursor (sid integer primary key, indexed integer not null)",
  "create table search_dirty (sid integer primary key)",
];

const said = ["message.user", "message.assistant"] as const;
const saidKinds = said.map((it) => `'${it}'`).join(", ");

/** What schema 4 added: whether a hit was said by a person or the model, without a look at what tools put out. */
export const saidIndex: readonly string[] = [
  `create index entry_said on entry(eid) where kind in (${saidKinds})`,
];

/** What is indexed of one entry. */
const entryUnits = 262_144;
const sliceRows = 256;
/** Above what anyone waits for; what lies beyond is not looked at. */
const scanRows = 20_000;
const scanUnits = 4_194_304;
/** Texts read to build the snippets of one answer. */
const answerUnits = 16_777_216;

type Role = Found["role"];
const roles: Readonly<Record<string, Role>> = {
  "message.user": "user",
  "message.assistant": "assistant",
  "message.tool": "tool",
  line: "line",
};

interface Wanted {
  /** Folded. */
  readonly text: string;
  readonly roles: ReadonlySet<Role>;
}

interface Row {
  readonly eid: number;
  readonly at: number;
  readonly kind: string;
  /** Null for entries that are no messages. */
  readonly data: string | null;
}

const columns =
  "eid, at, kind, case when kind in ('message.user', 'message.assistant', 'message.tool', 'line') then data end as data";

/** Says that the session has new entries; part of their transaction. */
export function touchSearch(sql: Sql, sid: number): void {
  sql.run("insert or ignore into search_dirty (sid) values (?)", sid);
}

/** Indexes some entries that are not indexed yet: about `units` characters, one entry at least. Answers whether more are left. */
export function indexSlice(sql: Sql, units: number = 65_536): boolean {
  return sql.transact(() => {
    const [dirty] = sql.all<{ sid: number }>("select sid from search_dirty limit 1");
    if (!dirty) return false;
    const { sid } = dirty;
    const { last } = eidRange(sid);
    let at = eidOf(sid, indexedSeq(sql, sid));
    let left = units;
    let isWhole = true;
    const rows = sql.all<Row>(
      `select ${columns} from entry where eid > ? and eid <= ? order by eid limit ?`,
      at,
      last,
      sliceRows,
    );
    for (const row of rows) {
      if (left <= 0) {
        isWhole = false;
        break;
      }
      at = row.eid;
      if (row.data === null) continue;
      const text = fold(textIn(sql, row.data));
      if (text !== "")
        sql.run("insert into search (rowid, text) values (cast(? as integer), ?)", row.eid, text);
      left -= text.length;
    }
    sql.run(
      "insert into search_cursor (sid, indexed) values (?, ?) on conflict (sid) do update set indexed = excluded.indexed",
      sid,
      seqOf(at),
    );
    if (isWhole && rows.length < sliceRows) sql.run("delete from search_dirty where sid = ?", sid);
    return sql.all("select 1 from search_dirty limit 1").length > 0;
  });
}

/** The newest messages of the session that contain `q`, newest first; of `only` these roles, where they are named. */
export function search(
  sql: Sql,
  sid: number,
  q: string,
  limit: number,
  only: readonly Role[] = Object.values(roles),
): Found[] {
  const wanted: Wanted = { text: fold(q), roles: new Set(only) };
  if (wanted.text === "" || limit <= 0) return [];
  const { first, last } = eidRange(sid);
  if (!/^.{3}/su.test(wanted.text)) return scan(sql, wanted, first, last, limit);
  const indexed = eidOf(sid, indexedSeq(sql, sid));
  const found = scan(sql, wanted, indexed + 1, last, limit);
  lookUp(sql, wanted, first, indexed, limit, found);
  return found;
}

/** One slice of forgetting a session: `budget` rows of the index. Answers whether more are left. */
export function dropSession(sql: Sql, sid: number, budget: number = 500): boolean {
  return sql.transact(() => {
    sql.run("delete from search_dirty where sid = ?", sid);
    const { first, last } = eidRange(sid);
    const rows = sql.all<{ rowid: number }>(
      "select rowid from search where rowid >= cast(? as integer) and rowid <= cast(? as integer) limit ?",
      first,
      last,
      budget,
    );
    for (const { rowid } of rows)
      sql.run("delete from search where rowid = cast(? as integer)", rowid);
    if (rows.length === budget) return true;
    sql.run("delete from search_cursor where sid = ?", sid);
    return false;
  });
}

function indexedSeq(sql: Sql, sid: number): number {
  const [cursor] = sql.all<{ indexed: number }>(
    "select indexed from search_cursor where sid = ?",
    sid,
  );
  return cursor?.indexed ?? 0;
}

/** Looks through the entries themselves, newest first. */
function scan(sql: Sql, wanted: Wanted, first: number, last: number, limit: number): Found[] {
  const found: Found[] = [];
  let before = last + 1;
  let units = scanUnits;
  for (let seen = 0; seen < scanRows;) {
    const rows = sql.all<Row>(
      `select ${columns} from entry where eid >= ? and eid < ? order by eid desc limit 100`,
      first,
      before,
    );
    for (const row of rows) {
      before = row.eid;
      if (row.data === null || !isOf(wanted, row.kind)) continue;
      const text = textIn(sql, row.data);
      addIfContained(found, row, text, wanted);
      units -= text.length;
      if (found.length === limit || units <= 0) return found;
    }
    if (rows.length < 100) return found;
    seen += rows.length;
  }
  return found;
}

/** Asks the index, newest first, and adds what the entries themselves confirm. */
function lookUp(
  sql: Sql,
  wanted: Wanted,
  first: number,
  last: number,
  limit: number,
  found: Found[],
): void {
  const phrase = `"${wanted.text.replaceAll('"', '""')}"`;
  const ofRoles = onlyOf(Object.keys(roles).filter((kind) => isOf(wanted, kind)));
  let units = answerUnits;
  for (let before = last; found.length < limit && units > 0;) {
    const missing = limit - found.length;
    const hits = sql.all<{ rowid: number }>(
      `select rowid from search where search match ? and rowid >= cast(? as integer) and rowid <= cast(? as integer)
       ${ofRoles} order by rowid desc limit ?`,
      phrase,
      first,
      before,
      missing,
    );
    for (const { rowid } of hits) {
      before = rowid - 1;
      const [row] = sql.all<Row>(`select ${columns} from entry where eid = ?`, rowid);
      if (!row || row.data === null || !isOf(wanted, row.kind)) continue;
      const text = textIn(sql, row.data);
      addIfContained(found, row, text, wanted);
      units -= text.length;
      if (units <= 0) return;
    }
    if (hits.length < missing) return;
  }
}

/** Results of tools are most of what a coding agent's log says: they are passed over where they are not wanted. */
function onlyOf(kinds: readonly string[]): string {
  if (kinds.length === Object.keys(roles).length) return "";
  if (kinds.length === said.length && said.every((it) => kinds.includes(it)))
    return `and exists (select 1 from entry indexed by entry_said where eid = search.rowid and kind in (${saidKinds}))`;
  return `and (select kind from entry where eid = search.rowid) in (${kinds.map((it) => `'${it}'`).join()})`;
}

function isOf(wanted: Wanted, kind: string): boolean {
  const role = roles[kind];
  return role !== undefined && wanted.roles.has(role);
}

function addIfContained(found: Found[], row: Row, text: string, wanted: Wanted): void {
  const role = roles[row.kind];
  const snippet = snippetAround(text, wanted.text);
  if (role === undefined || snippet === undefined) return;
  found.push({ seq: seqOf(row.eid), at: new Date(row.at).toISOString(), role, snippet });
}

/** What a person reads in a message: its texts, also those that were put aside; not thinking, not calls. */
function textIn(sql: Sql, json: string): string {
  const data = JSON.parse(json) as { text?: unknown; content?: unknown };
  const texts: string[] = [];
  let left = entryUnits;
  const add = (value: unknown): void => {
    if (left <= 0) return;
    const text = typeof value === "string" ? value : putAside(sql, value);
    if (text === "") return;
    texts.push(text.slice(0, left));
    left -= text.length;
  };
  if (data.text !== undefined) add(data.text);
  for (const block of blocksOf(sql, data.content)) if (block.type === "text") add(block.text);
  return texts.join("\n");
}

function blocksOf(sql: Sql, content: unknown): { type?: unknown; text?: unknown }[] {
  if (Array.isArray(content)) return content;
  // A content of very many blocks is one blob of JSON.
  const json = putAside(sql, content, Number.MAX_SAFE_INTEGER);
  return json === "" ? [] : (JSON.parse(json) as { type?: unknown; text?: unknown }[]);
}

function putAside(sql: Sql, value: unknown, atMost: number = entryUnits): string {
  if (value === null || typeof value !== "object" || !("blob" in value)) return "";
  const bytes = readBlob(sql, String(value.blob), atMost);
  return bytes ? new TextDecoder().decode(bytes) : "";
}
