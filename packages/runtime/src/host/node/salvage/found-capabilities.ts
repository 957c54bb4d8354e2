// Capabilities and grants that the pages of a store still show, and how they are written anew.
//
//   A text of a capability is whole where all parts of one version are there; of several versions the newest counts, so
//   that a capability which was detached is not found attached in an old page.
//   One whose operations are lost is only requested again: its server is asked for them when the store is opened.

import type { CapabilityRow, Grants } from "@lichen/capability";
import { fromTexts, writeCapability } from "../../../capability/capability-rows.ts";
import { deliveredGrants, writeGrants } from "../../../session/grant-table.ts";
import type { Sql, SqlValue } from "../../../store/sql.ts";

interface Version {
  readonly parts: number;
  readonly found: Map<number, string>;
}

const states: ReadonlySet<string> = new Set(["requested", "active", "releasing", "released"]);
const grantsOf: ReadonlySet<unknown> = new Set(["none", "read", "write"]);

export class FoundCapabilities {
  /** By agent, capability and section: the versions that are found. */
  readonly #texts = new Map<string, Map<number, Version>>();
  readonly #grants = new Map<number, { version: number; grants: Grants }>();

  /** A row of eight values, where it is a part of a capability's text. */
  takePart(values: readonly SqlValue[]): void {
    const [own, aid, id, section, part, parts, version, text] = values;
    if (own !== null || !isWhole(aid) || typeof id !== "string" || typeof text !== "string") return;
    if (section !== "row" && section !== "operations") return;
    if (!isWhole(part) || !isWhole(parts) || !isWhole(version) || part >= parts) return;
    const key = JSON.stringify([aid, id, section]);
    const versions = this.#texts.get(key) ?? new Map<number, Version>();
    this.#texts.set(key, versions);
    const found = versions.get(version) ?? { parts, found: new Map<number, string>() };
    versions.set(version, found);
    if (found.parts === parts && !found.found.has(part)) found.found.set(part, text);
  }

  /** A row of three values, where it says what was delivered to a session. */
  takeGrants(sid: number, [own, version, text]: readonly SqlValue[]): void {
    if (own !== null || !isWhole(version) || typeof text !== "string") return;
    const grants = jsonIn(text);
    if (!isRecord(grants) || !Object.values(grants).every((it) => grantsOf.has(it))) return;
    const known = this.#grants.get(sid);
    if (!known || known.version < version)
      this.#grants.set(sid, { version, grants: grants as Grants });
  }

  /** Writes what of the capabilities is whole; answers how many are lost. */
  writeCapabilities(sql: Sql, agents: ReadonlySet<number>): { kept: number; lost: number } {
    let kept = 0;
    let lost = 0;
    for (const key of this.#texts.keys()) {
      const [aid, id, section] = JSON.parse(key) as [number, string, string];
      if (section !== "row" || !agents.has(aid)) continue;
      const row = this.#row(aid, id);
      if (row) {
        writeCapability(sql, aid, row);
        kept++;
      } else lost++;
    }
    return { kept, lost };
  }

  #row(aid: number, id: string): CapabilityRow | undefined {
    const row = this.#text(aid, id, "row");
    if (row === undefined || !isRow(jsonIn(row), id)) return undefined;
    const operations = this.#text(aid, id, "operations");
    if (operations !== undefined && Array.isArray(jsonIn(operations)))
      return fromTexts({ row, operations });
    const bare = fromTexts({ row, operations: "[]" });
    if (bare.state !== "active") return bare;
    const message = "Its operations were lost with a part of its store: they are asked for again.";
    return { ...bare, state: "requested", keep: true, problem: { code: "salvaged", message } };
  }

  /** The newest version; undefined where that is not whole, since an older one says what holds no more. */
  #text(aid: number, id: string, section: string): string | undefined {
    const versions = this.#texts.get(JSON.stringify([aid, id, section]));
    if (!versions) return undefined;
    const { parts, found } = versions.get(Math.max(...versions.keys()))!;
    if (found.size !== parts) return undefined;
    return Array.from({ length: parts }, (_, part) => found.get(part)!).join("");
  }

  /** Where the log lost its end, what stood beside it may be newer than what it says. */
  writeGrants(sql: Sql, sid: number): void {
    const found = this.#grants.get(sid);
    const known = deliveredGrants(sql, sid);
    if (found && (!known || known.version < found.version)) writeGrants(sql, sid, found);
  }
}

function isRow(value: unknown, id: string): boolean {
  return (
    isRecord(value) &&
    value["id"] === id &&
    typeof value["kind"] === "string" &&
    typeof value["namespace"] === "string" &&
    Array.isArray(value["formerNamespaces"]) &&
    states.has(String(value["state"])) &&
    isWhole(value["revision"])
  );
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
