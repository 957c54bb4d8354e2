// Session rows: where a session's derived state stands between transactions, and the writer that moves it on.
//
// The log is the truth. A session's row is the projection of its entries, written in their transaction; `append` is
// the only way to change either.
//
//   L1  Entries of one session are numbered 1, 2, 3… without a gap.
//   L2  A transaction's entries and the row they project to are written together or not at all.
//   L3  Messages form a tree: each is a child of the leaf it was written on, and becomes the leaf.

import {
  Fault,
  noUsage,
  projectSession,
  type Entry,
  type EntryData,
  type JsonObject,
  type Kind,
  type SessionInfo,
} from "@lichen/wire";
import { putBlob } from "./blob.ts";
import { agentByAid } from "../session/agent-table.ts";
import { writeGrants } from "../session/grant-table.ts";
import { insertEvent, noteHarness } from "../session/harness-table.ts";
import { touchSearch } from "./search.ts";
import { spill } from "./spill.ts";
import { type Ground, instant } from "../store/ground.ts";
import { eidOf, idOf, sidOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import type { Tx } from "../store/writer.ts";

export interface SessionRow {
  readonly sid: number;
  readonly aid: number;
  readonly id: string;
  readonly key: string;
  readonly epoch: string;
  /** Row key of the leaf, which may lie in a session that this one was forked from. */
  readonly leaf: number | null;
  readonly forkedFrom: number | null;
  readonly info: SessionInfo;
}

interface Stored extends Omit<SessionRow, "info" | "forkedFrom"> {
  readonly info: string;
  readonly forked_from: number | null;
}

const columns = "sid, aid, id, key, epoch, leaf, forked_from, info";

export function findSession(sql: Sql, aid: number, id: string): SessionRow | undefined {
  return one(
    sql.all<Stored>(
      `select ${columns} from session where aid = ? and id = ? and deleted = 0`,
      aid,
      id,
    ),
  );
}

export function sessionBySid(sql: Sql, sid: number): SessionRow | undefined {
  return one(sql.all<Stored>(`select ${columns} from session where sid = ? and deleted = 0`, sid));
}

export function requireSession(sql: Sql, aid: number, id: string): SessionRow {
  const row = findSession(sql, aid, id);
  if (!row) throw unknownSession(id);
  return row;
}

export function unknownSession(id: string): Fault {
  return new Fault("unknown_session", `There is no session ${id}: create it, or send it a prompt.`);
}

export function toSessionRow({ info, forked_from, ...row }: Stored): SessionRow {
  return { ...row, forkedFrom: forked_from, info: JSON.parse(info) as SessionInfo };
}

function one([row]: Stored[]): SessionRow | undefined {
  return row && toSessionRow(row);
}

export interface NewSession {
  readonly agent: string;
  readonly aid: number;
  readonly id: string;
  readonly forkedFrom?: { readonly info: SessionInfo["forkedFrom"]; readonly leaf: number };
  readonly info?: Pick<SessionInfo, "title" | "model" | "reasoning" | "events">;
}

/** Writes a new, empty session. */
export function insertSession(ground: Ground, tx: Tx, made: NewSession): SessionRow {
  const { sql, platform } = ground;
  // A handle may outlive its agent.
  if (agentByAid(sql, made.aid)?.name !== made.agent)
    throw new Fault("unknown_agent", `There is no agent ${made.agent} any more: it was removed.`);
  const key = platform.randomId(12);
  const epoch = platform.randomId(8);
  const at = instant(tx.at);
  const leaf = made.forkedFrom?.leaf ?? null;
  const info: SessionInfo = {
    session: made.id,
    agent: made.agent,
    epoch,
    state: "idle",
    head: 0,
    pending: 0,
    approvals: 0,
    turns: 0,
    usage: noUsage,
    createdAt: at,
    lastAt: at,
    ...made.info,
    ...(made.forkedFrom?.info
      ? { forkedFrom: made.forkedFrom.info, leaf: made.forkedFrom.info.at }
      : {}),
  };
  const [row] = sql.all<{ sid: number }>(
    `insert into session (aid, id, key, epoch, head, leaf, last_at, state, info, forked_from, forked_sid)
     values (?, ?, ?, ?, 0, ?, ?, 'idle', ?, ?, ?) returning sid`,
    made.aid,
    made.id,
    key,
    epoch,
    leaf,
    tx.at,
    JSON.stringify(info),
    leaf,
    leaf === null ? null : sidOf(leaf),
  );
  tx.touch(row!.sid);
  return { sid: row!.sid, aid: made.aid, id: made.id, key, epoch, leaf, forkedFrom: leaf, info };
}

export interface EntryDraft<K extends Kind = Kind> {
  readonly kind: K;
  readonly data: EntryData[K];
  /** The `seq` of the command's own entry. */
  readonly command?: number | undefined;
  readonly requestId?: string | undefined;
  readonly by?: string | undefined;
  readonly meta?: JsonObject | undefined;
}

const inTree: ReadonlySet<Kind> = new Set([
  "message.user",
  "message.assistant",
  "message.tool",
  "line",
  "compaction",
]);

/** Tells whoever watches, once it is durable. */
export type Publish = (row: SessionRow, entries: readonly Entry[]) => void;

/** Appends to one session within one transaction and writes its row when the transaction's member ends. */
export class SessionWriter {
  readonly #ground: Ground;
  readonly #tx: Tx;
  readonly #row: SessionRow;
  readonly #entries: Entry[] = [];
  readonly #publish: Publish;
  #info: SessionInfo;
  #leaf: number | null;

  constructor(ground: Ground, tx: Tx, row: SessionRow, publish: Publish) {
    this.#ground = ground;
    this.#tx = tx;
    this.#row = row;
    this.#info = row.info;
    this.#leaf = row.leaf;
    this.#publish = publish;
    tx.touch(row.sid);
    tx.seal(() => this.#seal());
  }

  /** The session as it stands after what was appended so far. */
  get row(): SessionRow {
    return { ...this.#row, info: this.#info, leaf: this.#leaf };
  }

  get info(): SessionInfo {
    return this.#info;
  }

  get at(): number {
    return this.#tx.at;
  }

  append<K extends Kind>(draft: EntryDraft<K>): Entry {
    const { sid, key } = this.#row;
    const { sql, platform, texts } = this.#ground;
    const seq = this.#info.head + 1;
    const eid = eidOf(sid, seq);
    const { data, blobs } = spill(
      draft.data as JsonObject,
      (bytes) => platform.sha256(bytes),
      (text) => texts.find(sid, text),
    );
    for (const blob of blobs) putBlob(sql, sid, blob.sha256, blob.mimeType, blob.bytes);
    const parent = inTree.has(draft.kind) ? this.#leaf : null;
    sql.run(
      "insert into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      eid,
      this.#tx.at,
      draft.kind,
      draft.command ?? null,
      draft.requestId ?? null,
      parent,
      draft.by ?? null,
      JSON.stringify(data),
      draft.meta ? JSON.stringify(draft.meta) : null,
    );
    const entry: Entry = {
      seq,
      id: idOf("ent", key, seq),
      at: instant(this.#tx.at),
      kind: draft.kind,
      ...(draft.command === undefined ? {} : { commandId: idOf("cmd", key, draft.command) }),
      ...(draft.requestId === undefined ? {} : { requestId: draft.requestId }),
      ...(parent === null ? {} : { parent: this.#idOfEntry(parent) }),
      ...(draft.by === undefined ? {} : { by: draft.by }),
      data,
      ...(draft.meta === undefined ? {} : { meta: draft.meta }),
    };
    if (inTree.has(draft.kind)) this.#leaf = eid;
    if (draft.kind === "conversation.started") {
      this.#leaf = null;
      sql.run("update session set tools = null where sid = ?", sid);
    }
    if (draft.kind === "grants.delivered")
      writeGrants(sql, sid, draft.data as EntryData["grants.delivered"]);
    const { tools } = draft.data as Partial<EntryData["session.changed"]>;
    if (draft.kind === "session.changed" && tools)
      sql.run("update session set tools = ? where sid = ?", JSON.stringify(tools), sid);
    noteHarness(sql, sid, draft.kind, draft.data);
    const { events: numbered = 0 } = this.#info;
    this.#info = projectSession(this.#info, entry);
    if (this.#info.events !== undefined && this.#info.events > numbered)
      insertEvent(sql, sid, this.#info.events, eid);
    this.#entries.push(entry);
    return entry;
  }

  /** Moves the leaf to an entry that the caller found on this session's tree. */
  moveLeaf(leaf: number, id: string, by: string | undefined): Entry {
    const entry = this.append({ kind: "session.changed", by, data: { leaf: id } });
    this.#leaf = leaf;
    return entry;
  }

  #idOfEntry(eid: number): string {
    const sid = sidOf(eid);
    if (sid === this.#row.sid) return idOf("ent", this.#row.key, seqOf(eid));
    return idOf("ent", keyOf(this.#ground.sql, sid), seqOf(eid));
  }

  #seal(): void {
    if (this.#entries.length === 0) return;
    const info = this.#info;
    this.#ground.sql.run(
      "update session set head = ?, leaf = ?, last_at = ?, state = ?, info = ? where sid = ?",
      info.head,
      this.#leaf,
      this.#tx.at,
      info.state,
      JSON.stringify(info),
      this.#row.sid,
    );
    touchSearch(this.#ground.sql, this.#row.sid);
    const row = this.row;
    this.#tx.after(() => this.#publish(row, this.#entries));
  }
}

/** A session's key, also of one that was deleted while a fork still needs it. */
export function keyOf(sql: Sql, sid: number): string {
  return sql.all<{ key: string }>("select key from session where sid = ?", sid)[0]!.key;
}
