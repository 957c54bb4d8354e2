// An agent's capabilities in its own database: rows written and read whole, inside whatever transaction is open.

import type { CapabilityRow, SurfaceEvent } from "@lichen/capability";
import type { Sql } from "../store/sql.ts";

/** UTF-16 units of a part: at most 768 KiB of UTF-8. */
const partUnits = 262_144;

/** A row is stored as two texts, since what it lends is large and changes seldom. */
type Section = "row" | "operations";

export function readCapabilities(sql: Sql, aid: number): CapabilityRow[] {
  const texts = new Map<string, Record<Section, string>>();
  const parts = sql.all<{ id: string; section: Section; text: string }>(
    "select id, section, text from capability_part where aid = ? order by id, section, part",
    aid,
  );
  for (const { id, section, text } of parts) {
    const row = texts.get(id) ?? { row: "", operations: "" };
    row[section] += text;
    texts.set(id, row);
  }
  return [...texts.values()].map(fromTexts);
}

/** The row of its two texts. */
export function fromTexts({ row, operations }: Record<Section, string>): CapabilityRow {
  const whole = JSON.parse(row) as Omit<CapabilityRow, "operations">;
  return { ...whole, operations: JSON.parse(operations) as CapabilityRow["operations"] };
}

/** All that is stored of an agent that is no more. */
export function dropCapabilities(sql: Sql, aid: number): void {
  sql.run("delete from capability_part where aid = ?", aid);
  sql.run("delete from capability_event where aid = ?", aid);
}

/** Writes `row` in place of `before`, the one that is stored. */
export function writeCapability(
  sql: Sql,
  aid: number,
  row: CapabilityRow,
  before?: CapabilityRow,
): void {
  const { operations, ...rest } = row;
  writeText(sql, aid, row.id, "row", JSON.stringify(rest));
  if (operations !== before?.operations)
    writeText(sql, aid, row.id, "operations", JSON.stringify(operations));
}

function writeText(sql: Sql, aid: number, id: string, section: Section, text: string): void {
  const [newest] = sql.all<{ version: number | null }>(
    "select max(version) as version from capability_part where aid = ? and id = ? and section = ?",
    aid,
    id,
    section,
  );
  const version = (newest?.version ?? 0) + 1;
  sql.run("delete from capability_part where aid = ? and id = ? and section = ?", aid, id, section);
  const parts = split(text);
  for (const [part, piece] of parts.entries())
    sql.run(
      "insert into capability_part (aid, id, section, part, parts, version, text) values (?, ?, ?, ?, ?, ?, ?)",
      aid,
      id,
      section,
      part,
      parts.length,
      version,
      piece,
    );
}

/** Pieces of a text, none of which ends inside a surrogate pair. */
function split(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + partUnits, text.length);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end--;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** Events that were committed and not told yet, oldest first. */
export function unsentEvents(sql: Sql, aid: number): SurfaceEvent[] {
  return sql
    .all<{ event: string }>(
      "select event from capability_event where aid = ? order by revision",
      aid,
    )
    .map(({ event }) => JSON.parse(event) as SurfaceEvent);
}

export function putEvent(sql: Sql, aid: number, event: SurfaceEvent): void {
  sql.run(
    "insert into capability_event (aid, revision, event) values (?, ?, ?)",
    aid,
    event.revision,
    JSON.stringify(event),
  );
}

export function dropEvent(sql: Sql, aid: number, revision: number): void {
  sql.run("delete from capability_event where aid = ? and revision = ?", aid, revision);
}
