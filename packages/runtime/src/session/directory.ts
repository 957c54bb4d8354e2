// The directory of one agent's sessions: create, list, change, fork by reference, delete with tombstones.
//
//   L10  Creating is replayable under its request id; an id that exists is a conflict.
//   L11  A fork refers to its parent at an entry and copies nothing; deleting the parent keeps what forks need.
//   L12  A deleted session is gone for every reader at once; what it wrote is purged in small slices afterwards.

import { canonicalJson, Fault, type Receipt, type SessionInfo } from "@lichen/wire";
import { isKnown, record, replayed, type RequestKey } from "../admission/request-table.ts";
import { resolveEntry } from "../log/entry-log.ts";
import {
  findSession,
  insertSession,
  requireSession,
  type SessionRow,
  type SessionWriter,
  toSessionRow,
} from "../log/session-row.ts";
import { queuedCommands, runningCommand } from "../queue/command-table.ts";
import type { Sessions } from "../queue/sessions.ts";
import { recordCancel, settlePending, settleRun } from "../queue/settle.ts";
import type { Tx } from "../store/writer.ts";
import { dropCapabilities } from "../capability/capability-rows.ts";
import { buryAgent } from "./agent-table.ts";
import { deliveredGrants } from "./grant-table.ts";

export interface Made {
  readonly row: SessionRow;
  readonly replay: boolean;
}

export interface Changes {
  readonly title?: string;
  readonly model?: string | null;
  readonly reasoning?: SessionInfo["reasoning"];
  readonly leaf?: string;
}

interface Whose {
  readonly aid: number;
  readonly agent: string;
}

const pageLimit = 200;
/** Sessions that end in one transaction when their agent is removed. */
const sessionsPerStep = 8;
const inTree: ReadonlySet<string> = new Set([
  "message.user",
  "message.assistant",
  "message.tool",
  "line",
  "compaction",
]);

export class Directory {
  readonly #sessions: Sessions;
  readonly #changed: (made: SessionRow) => void;

  constructor(sessions: Sessions, changed: (made: SessionRow) => void) {
    this.#sessions = sessions;
    this.#changed = changed;
  }

  create(
    whose: Whose,
    options: { requestId: string; session?: string; events?: true } & Pick<
      SessionInfo,
      "title" | "model" | "reasoning"
    >,
  ): Promise<Made> {
    const { requestId, ...input } = options;
    const { session, events, ...settings } = input;
    return this.#make(whose, requestId, { type: "create", ...input }, (tx) => {
      const id = session ?? this.#sessions.ground.platform.randomId(16);
      this.#mustBeFree(whose.aid, id);
      return insertSession(this.#sessions.ground, tx, {
        ...whose,
        id,
        info: withoutUndefined({ ...settings, events: events ? 0 : undefined }),
      });
    });
  }

  fork(
    whose: Whose,
    from: string,
    options: { requestId: string; at?: string; session?: string },
  ): Promise<Made> {
    const { sql, platform } = this.#sessions.ground;
    const { requestId, ...input } = options;
    return this.#make(whose, requestId, { type: "fork", from, ...input }, (tx) => {
      const parent = requireSession(sql, whose.aid, from);
      const at = options.at ?? parent.info.leaf;
      if (at === undefined)
        throw new Fault(
          "invalid",
          `Session ${from} has no messages yet: there is nothing to fork.`,
        );
      const entry = resolveEntry(sql, parent, at);
      if (!inTree.has(entry.kind))
        throw new Fault("invalid", `at: ${at} is a ${entry.kind}; fork at a message or a line.`);
      const id = options.session ?? platform.randomId(16);
      this.#mustBeFree(whose.aid, id);
      const { model, reasoning } = parent.info;
      const made = insertSession(this.#sessions.ground, tx, {
        ...whose,
        id,
        forkedFrom: { info: { session: from, at }, leaf: entry.eid },
        info: withoutUndefined({ model, reasoning }),
      });
      sql.run(
        "update session set tools = (select tools from session where sid = ?) where sid = ?",
        parent.sid,
        made.sid,
      );
      // What a host decided about the parent holds for what goes on from there.
      const grants = deliveredGrants(sql, parent.sid);
      if (!grants) return made;
      const session = this.#sessions.writer(tx, made);
      session.append({
        kind: "grants.delivered",
        data: { ...grants, grants: { ...grants.grants } },
      });
      return session.row;
    });
  }

  /** Whether this request id has made, or tried to make, a session of the agent. */
  knows({ aid }: Whose, requestId: string): boolean {
    return isKnown(this.#sessions.ground.sql, { aid, session: "", request: requestId });
  }

  // Session creation is an admission of the agent: its request ids are one namespace of their own.
  #make(
    whose: Whose,
    requestId: string,
    input: object,
    make: (tx: Tx) => SessionRow,
  ): Promise<Made> {
    const { sql, platform, writer } = this.#sessions.ground;
    const key: RequestKey = { aid: whose.aid, session: "", request: requestId };
    const digest = platform.sha256(canonicalJson(input));
    return writer.commit((tx): Made => {
      const earlier = replayed(sql, key, digest);
      if (earlier) {
        const [row] = sql.all<{ id: string }>(
          "select s.id from request r join session s on s.sid = r.sid where r.aid = ? and r.session = '' and r.request = ?",
          whose.aid,
          requestId,
        );
        return { row: requireSession(sql, whose.aid, row!.id), replay: true };
      }
      const row = make(tx);
      record(sql, key, row.sid, digest, { status: "accepted" } satisfies Receipt);
      tx.after(() => this.#changed(row));
      return { row, replay: false };
    });
  }

  #mustBeFree(aid: number, id: string): void {
    if (findSession(this.#sessions.ground.sql, aid, id))
      throw new Fault(
        "conflict",
        `Session ${id} exists already: choose another id, or leave it out.`,
      );
  }

  list(
    { aid }: Whose,
    page: { limit?: number; before?: string },
  ): { rows: SessionRow[]; next?: string } {
    const limit = page.limit ?? pageLimit;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > pageLimit)
      throw new Fault("invalid", `limit: a whole number from 1 to ${pageLimit}.`);
    const cursor = page.before === undefined ? undefined : parsePage(page.before);
    const rows = this.#sessions.ground.sql.all<
      Parameters<typeof toSessionRow>[0] & { last_at: number }
    >(
      `select sid, aid, id, key, epoch, leaf, forked_from, info, last_at from session
       where aid = ? and deleted = 0 and (last_at, sid) < (?, ?)
       order by last_at desc, sid desc limit ?`,
      aid,
      cursor?.lastAt ?? Number.MAX_SAFE_INTEGER,
      cursor?.sid ?? Number.MAX_SAFE_INTEGER,
      limit + 1,
    );
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      rows: shown.map(toSessionRow),
      ...(rows.length > limit && last ? { next: `${last.last_at}.${last.sid}` } : {}),
    };
  }

  change(aid: number, id: string, changes: Changes, by?: string): Promise<SessionInfo> {
    const { sql, writer } = this.#sessions.ground;
    return writer.commit((tx) => {
      const row = requireSession(sql, aid, id);
      const session = this.#sessions.writer(tx, row);
      const { leaf, ...settings } = changes;
      const entry = leaf === undefined ? undefined : resolveEntry(sql, row, leaf);
      if (entry) this.#mustBeIdle(session, "move its leaf");
      if (entry && !inTree.has(entry.kind))
        throw new Fault("invalid", `leaf: ${leaf} is a ${entry.kind}; choose a message or a line.`);
      if (Object.keys(settings).length > 0)
        session.append({ kind: "session.changed", by, data: withoutUndefined(settings) });
      if (entry) session.moveLeaf(entry.eid, leaf!, by);
      return session.info;
    });
  }

  restart(aid: number, id: string, by?: string): Promise<SessionInfo> {
    const { sql, writer } = this.#sessions.ground;
    return writer.commit((tx) => {
      const session = this.#sessions.writer(tx, requireSession(sql, aid, id));
      this.#mustBeIdle(session, "start a new conversation");
      session.append({ kind: "conversation.started", by, data: {} });
      return session.info;
    });
  }

  #mustBeIdle(session: SessionWriter, wish: string): void {
    if (session.info.state === "idle") return;
    throw new Fault(
      "busy",
      `Session ${session.row.id} is ${session.info.state}: wait until it is idle to ${wish}, or abort it.`,
      { retryable: true },
    );
  }

  /** Ends everything in the session and hides it. Answers what it was, or undefined where there was none. */
  delete(aid: number, id: string, epoch: string | undefined): Promise<SessionRow | undefined> {
    const { ground } = this.#sessions;
    return ground.writer.commit((tx) => {
      const row = findSession(ground.sql, aid, id);
      if (!row) return undefined;
      if (epoch !== undefined && epoch !== row.epoch)
        throw new Fault(
          "stale",
          `Session ${id} is now another incarnation (epoch ${row.epoch}): look at it again before you delete it.`,
        );
      this.#end(tx, row);
      return row;
    });
  }

  /** Ends some sessions of an agent, and with the last of them the agent itself: its name is free then. */
  removeSome(aid: number): Promise<{ ended: SessionRow[]; isGone: boolean }> {
    const { sql, writer } = this.#sessions.ground;
    return writer.commit((tx) => {
      const { rows, next } = this.list({ aid, agent: "" }, { limit: sessionsPerStep });
      for (const row of rows) this.#end(tx, row);
      if (next === undefined) {
        dropCapabilities(sql, aid);
        buryAgent(sql, aid);
      }
      return { ended: rows, isGone: next === undefined };
    });
  }

  #end(tx: Tx, row: SessionRow): void {
    const { ground } = this.#sessions;
    const session = this.#sessions.writer(tx, row);
    for (const command of queuedCommands(ground.sql, row.sid))
      settlePending(ground, session, command, {});
    const running = runningCommand(ground.sql, row.sid);
    if (running) {
      if (running.cancelled === null) recordCancel(ground, session, running, "running", {});
      settleRun(ground, session, running.cid, { terminal: "cancelled" });
    }
    tx.seal(() => ground.sql.run("update session set deleted = 1 where sid = ?", row.sid));
  }
}

function parsePage(before: string): { lastAt: number; sid: number } {
  const match = /^([0-9]{1,15})\.([0-9]{1,15})$/.exec(before);
  if (!match) throw new Fault("invalid", "before: give the `next` of an earlier page.");
  return { lastAt: Number(match[1]), sid: Number(match[2]) };
}

function withoutUndefined<T extends object>(
  value: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
