// Salvage: what is readable of a damaged store, copied into a new one that this code opens like any other.
//
//   The damaged files are read and never changed; its lease is held meanwhile, so that nobody else writes to them.
//   The lease of the new store is held as well: what somebody makes there first is never replaced.
//   The log is the truth: of each session the entries are copied up to the first that cannot be read, and every other
//   table is derived from them. Blobs are copied where their bytes have the digest they are called by.
//   What stands open in a session whose end is lost, or may be, ends as unknown: nothing runs twice by being copied.
//   A request id of what is lost stays used: it is refused rather than done a second time.

import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Fault, type SessionInfo } from "@lichen/wire";
import type { Platform } from "../../../platform.ts";
import { eidOf, parseId, seqOf, sidOf } from "../../../store/keys.ts";
import { openSchema, schemaVersion } from "../../../store/schema.ts";
import type { Sql } from "../../../store/sql.ts";
import { makeFolder, toSystemRefusal } from "../folder.ts";
import { acquireLease, type Lease } from "../lease.ts";
import { openSql, syncFolder } from "../sql.ts";
import { copyBlobs } from "./blobs.ts";
import { endOpenCommands, noteLoss } from "./closing.ts";
import { FoundRows } from "./found-rows.ts";
import { Identities, type Identity } from "./identities.ts";
import { Pages } from "./pages.ts";
import { putInPlace } from "./put-in-place.ts";
import { type Lineage, RebuiltSession } from "./rebuilt-session.ts";
import { copyRequests } from "./requests.ts";

const strayDistance = 100_000;

export interface SalvageOptions {
  /** The damaged store's file. */
  readonly from: string;
  /** The new store's file; its folder must be empty or missing. */
  readonly to: string;
  readonly platform: Pick<Platform, "now" | "randomId" | "sha256">;
}

export interface SalvagedSession {
  readonly agent: string;
  readonly session: string;
  /** Entries that were copied. */
  readonly kept: number;
  /** Entries that are known to be lost or left out; more may be, where `isEndKnown` is false. */
  readonly lost: number;
  /** Of the lost ones, those that could be read and stand behind one that could not. */
  readonly leftOut: number;
  /** Blobs that its entries name and whose bytes are lost. */
  readonly lostBlobs: number;
  /** Commands that were ended as unknown. */
  readonly ended: number;
  /** Whether the store still said how long the session was. */
  readonly isEndKnown: boolean;
  /** It was forked from a place that is lost. */
  readonly isDetached: boolean;
  /** Its name was found nowhere and is made up. */
  readonly isNameless: boolean;
  /** False where neither its name nor its beginning was found: nothing of it is in the copy. */
  readonly isCopied: boolean;
}

export interface SalvageReport {
  readonly pages: number;
  readonly unreadablePages: number;
  /** The newest commits are lost: they stood in the part of the WAL that cannot be read. */
  readonly isWalCut: boolean;
  readonly sessions: readonly SalvagedSession[];
  readonly blobs: { readonly kept: number; readonly lost: number };
  readonly requests: { readonly kept: number; readonly refused: number };
  readonly capabilities: { readonly kept: number; readonly lost: number };
}

/**
 * Copies what is readable. `unavailable` while somebody owns the damaged store or the new one, `invalid` where the new
 * place is not empty, `unreadable` where no conversation of a store of Lichen is left, or a newer Lichen wrote it.
 */
export async function salvageStore(options: SalvageOptions): Promise<SalvageReport> {
  const { from, to } = options;
  if (!statSync(from, { throwIfNoEntry: false })?.isFile())
    throw new Fault("invalid", `There is no store ${basename(from)} to copy from.`);
  makeFolder(dirname(to), "The folder to copy to");
  refuseFull(to);
  const lease = await leaseOf(from);
  try {
    const pages = openPages(from);
    try {
      return await copy(pages, options);
    } finally {
      pages.close();
    }
  } finally {
    lease?.release();
  }
}

/** The lease and its journal are there while it is held, and stay behind where a copy was begun. */
function refuseFull(to: string): void {
  const lease = `${basename(to)}-lease`;
  if (readdirSync(dirname(to)).some((name) => !name.startsWith(lease)))
    throw new Fault("invalid", "The folder to copy to is not empty: name a new one.");
}

/** Where not even the lock can be written, nobody writes to the store either. */
async function leaseOf(path: string): Promise<Lease | undefined> {
  try {
    return await acquireLease(path);
  } catch (error) {
    if (Fault.is(error) && error.code === "unreadable") return undefined;
    throw error;
  }
}

function openPages(path: string): Pages {
  try {
    return Pages.open(path);
  } catch (error) {
    throw toSystemRefusal(error, `the store ${basename(path)}`);
  }
}

async function copy(pages: Pages, { from, to, platform }: SalvageOptions): Promise<SalvageReport> {
  const found = new FoundRows(pages);
  if (found.schema !== undefined && Number(found.schema) > schemaVersion)
    throw new Fault(
      "unreadable",
      `The store ${basename(from)} has schema ${found.schema}, this Lichen reads up to ${schemaVersion}: update Lichen.`,
    );
  if (found.sids().length === 0 && found.schema === undefined)
    throw new Fault(
      "unreadable",
      `Nothing of a store of Lichen can be found in ${basename(from)}: restore a backup.`,
    );
  const lease = await acquireLease(to);
  try {
    // Nobody begins a store here from now on.
    refuseFull(to);
    // Whole or not there: a copy that was broken off must not be taken for one.
    const draft = `${to}.part`;
    try {
      const report = await copyInto(draft, (sql) => new Copying(sql, found, pages, platform).run());
      refuseNothing(report, from);
      putInPlace(draft, to);
      await syncFolder(dirname(to));
      return report;
    } finally {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${draft}${end}`, { force: true });
    }
  } finally {
    lease.release();
  }
}

/** A copy without a word of a damaged store is none that anybody could go on with. */
function refuseNothing(
  { sessions, pages, unreadablePages, isWalCut }: SalvageReport,
  from: string,
): void {
  const isSomething = ({ isCopied, kept, lost, isEndKnown }: SalvagedSession): boolean =>
    isCopied && (kept > 0 || (lost === 0 && isEndKnown));
  if (sessions.some(isSomething)) return;
  if (sessions.length === 0 && unreadablePages === 0 && !isWalCut) return;
  throw new Fault(
    "unreadable",
    `No conversation can be read in ${basename(from)} any more (${unreadablePages} of ${pages} pages are damaged${isWalCut ? ", and its WAL is" : ""}); nothing was copied: restore a backup.`,
  );
}

async function copyInto<T>(path: string, write: (sql: Sql) => T): Promise<T> {
  const file = await openSql(path);
  try {
    openSchema(file.sql);
    const result = write(file.sql);
    // Nothing stays in the WAL, which is not renamed.
    file.sql.all("pragma wal_checkpoint(TRUNCATE)");
    return result;
  } finally {
    await file.close();
  }
}

class Copying implements Lineage {
  readonly #sql: Sql;
  readonly #found: FoundRows;
  readonly #pages: Pages;
  readonly #platform: SalvageOptions["platform"];
  readonly #identities: Identities;
  /** How far each session's own log was copied; what is written behind that is no part of it. */
  readonly #kept = new Map<number, number>();

  constructor(sql: Sql, found: FoundRows, pages: Pages, platform: SalvageOptions["platform"]) {
    this.#sql = sql;
    this.#found = found;
    this.#pages = pages;
    this.#platform = platform;
    this.#identities = new Identities(found, platform);
  }

  run(): SalvageReport {
    for (const [aid, { name, createdAt, kept }] of this.#identities.agents)
      this.#sql.run(
        `insert or ignore into agent (aid, name, created_at, label, settings, engine, revision)
         values (?, ?, ?, ?, ?, ?, ?)`,
        ...[aid, name, createdAt],
        ...[kept?.label ?? null, kept?.settings ?? null, kept?.engine ?? null],
        kept?.revision ?? 0,
      );
    // A session that was forked is younger than the one it was forked from.
    const sessions = this.#found
      .sids()
      .flatMap((sid) => this.#sql.transact(() => this.#copySession(sid)) ?? []);
    const agents = new Set(this.#identities.agents.keys());
    const capabilities = this.#sql.transact(() =>
      this.#found.capabilities.writeCapabilities(this.#sql, agents),
    );
    const blobs = copyBlobs(this.#sql, this.#found, this.#platform);
    const requests = this.#sql.transact(() =>
      copyRequests(this.#sql, this.#found, this.#identities, this.#kept),
    );
    return {
      pages: this.#pages.count + this.#pages.missing,
      unreadablePages: this.#found.unreadablePages + this.#pages.missing,
      isWalCut: this.#pages.isCut,
      sessions: sessions.map(({ sid, ...session }) => ({
        ...session,
        lostBlobs: blobs.lostBySession.get(sid) ?? 0,
      })),
      blobs: { kept: blobs.kept, lost: blobs.lost },
      requests,
      capabilities,
    };
  }

  eidOfId(id: string): number | undefined {
    const parsed = parseId("ent", id);
    const sid = parsed && this.#identities.sidOfKey(parsed.key);
    if (!parsed || sid === undefined) return undefined;
    const eid = eidOf(sid, parsed.seq);
    return this.has(eid) ? eid : undefined;
  }

  has(eid: number): boolean {
    return seqOf(eid) >= 1 && seqOf(eid) <= (this.#kept.get(sidOf(eid)) ?? 0);
  }

  #copySession(sid: number): (Omit<SalvagedSession, "lostBlobs"> & { sid: number }) | undefined {
    const identity = this.#identities.of(sid);
    const { info, key, aid, head, deleted } = identity;
    const isDetached = identity.forkedFrom !== null && !this.has(identity.forkedFrom);
    const rebuilt = new RebuiltSession(this.#sql, this, {
      ...{ sid, aid, key, info: isDetached ? withoutFork(info) : this.#withFork(identity) },
      forkedFrom: isDetached ? null : identity.forkedFrom,
    });
    const seqs = this.#found.seqs(sid);
    const kept = this.#copyEntries(sid, rebuilt, seqs);
    const least = Math.max(head ?? 0, kept);
    // A number far beyond all others is a damaged one.
    const longest = Math.max(least, seqs.findLast((seq) => seq < least + strayDistance) ?? 0);
    const isWhole = head === kept && longest === kept;
    const isNameless = head === undefined && info.session === `salvaged-${sid}`;
    const lost = {
      ...{ sid, agent: info.agent, session: info.session, kept, lost: longest - kept },
      leftOut: seqs.filter((seq) => seq > kept).length,
      isEndKnown: head !== undefined && !this.#pages.isCut,
      ...{ isDetached, isNameless, isCopied: !isNameless || kept > 0 },
    };
    // Neither a beginning nor a name: there is nothing to go on with.
    if (!lost.isCopied) return { ...lost, ended: 0 };
    this.#kept.set(sid, kept);
    const at = this.#platform.now();
    let ended = 0;
    if (deleted === 0) {
      if (!isWhole || this.#pages.isCut) ended = endOpenCommands(rebuilt, at);
      if (!isWhole) noteLoss(rebuilt, at);
    }
    rebuilt.write({
      settings: settingsOf(info),
      tools: identity.tools,
      lastAt: identity.lastAt,
      deleted,
      approvalNames: this.#found.approvalNames,
    });
    if (deleted === 0) this.#found.capabilities.writeGrants(this.#sql, sid);
    return deleted === 0 ? { ...lost, ended } : undefined;
  }

  /** Copies from the first entry to the last before a gap; answers its number. */
  #copyEntries(sid: number, rebuilt: RebuiltSession, seqs: readonly number[]): number {
    let kept = 0;
    for (const seq of seqs) {
      const row = seq === kept + 1 ? this.#found.entry(sid, seq) : undefined;
      if (!row) break;
      try {
        rebuilt.add(row);
      } catch (error) {
        if (Fault.is(error)) throw error;
        // Its data is damaged in a way that only its kind shows.
        break;
      }
      kept = seq;
    }
    return kept;
  }

  /** A fork whose row is gone still says by its first parent where it began. */
  #withFork({ info, forkedFrom }: Identity): SessionInfo {
    if (forkedFrom === null || info.forkedFrom) return info;
    const parent = this.#identities.of(sidOf(forkedFrom));
    const at = `ent_${parent.key}_${seqOf(forkedFrom)}`;
    return { ...info, leaf: at, forkedFrom: { session: parent.info.session, at } };
  }
}

function withoutFork(info: SessionInfo): SessionInfo {
  const { leaf: _leaf, forkedFrom: _forkedFrom, ...rest } = info;
  return rest;
}

function settingsOf(info: SessionInfo): Pick<SessionInfo, "title" | "model" | "reasoning"> {
  const { title, model, reasoning } = info;
  return {
    ...(title === undefined ? {} : { title }),
    ...(model === undefined ? {} : { model }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}
