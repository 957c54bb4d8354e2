// Who the sessions of a damaged store are: their names and keys, also of those whose own row is gone.
//
// A name then comes from what was admitted under it or from an index, a key from the ids that the session's entries
// carry. What is found nowhere is made up, so that the entries stay.

import { noUsage, type SessionInfo } from "@lichen/wire";
import type { Platform } from "../../../platform.ts";
import { instant } from "../../../store/ground.ts";
import { sidOf } from "../../../store/keys.ts";
import type { FoundAgent, FoundRows } from "./found-rows.ts";

export interface Identity {
  readonly aid: number;
  readonly key: string;
  /** The session before its first entry; settings are those it had last. */
  readonly info: SessionInfo;
  readonly forkedFrom: number | null;
  readonly deleted: number;
  /** What its row says; undefined where that is gone. */
  readonly head: number | undefined;
  readonly tools: string | null;
  readonly lastAt: number;
}

const idPattern = /\b(?:ent|cmd|apr)_([0-9a-z]{12})_[1-9]/;

export class Identities {
  readonly #found: FoundRows;
  readonly #platform: Pick<Platform, "now" | "randomId">;
  readonly #bySid = new Map<number, Identity>();
  readonly #sidByKey = new Map<string, number>();
  readonly #names = new Set<string>();
  readonly agents = new Map<number, FoundAgent>();

  constructor(found: FoundRows, platform: Pick<Platform, "now" | "randomId">) {
    this.#found = found;
    this.#platform = platform;
    const sids = found.sids();
    // Those that are known come first: whoever is guessed must not take their name.
    for (const sid of sids) if (found.sessions.has(sid)) this.#keep(sid, this.#known(sid));
    for (const sid of sids) if (!found.sessions.has(sid)) this.#keep(sid, this.#guessed(sid));
    for (const { aid } of found.requests.values()) this.#agentName(aid);
    for (const aid of found.agents.keys()) this.#agentName(aid);
  }

  of(sid: number): Identity {
    return this.#bySid.get(sid)!;
  }

  sidOfKey(key: string): number | undefined {
    return this.#sidByKey.get(key);
  }

  #keep(sid: number, identity: Identity): void {
    this.#bySid.set(sid, identity);
    this.#sidByKey.set(identity.key, sid);
    if (identity.deleted === 0) this.#names.add(nameOf(identity.aid, identity.info.session));
  }

  #known(sid: number): Identity {
    const row = this.#found.sessions.get(sid)!;
    const aid = this.#aidOf(row.aid, row.info.agent);
    const agent = this.#agentName(aid, row.info.agent);
    const { leaf: _leaf, preview: _preview, ...kept } = row.info;
    return {
      ...{ aid, key: this.#freeKey(row.key), forkedFrom: row.forkedFrom },
      ...{ deleted: row.deleted, head: row.head, tools: row.tools, lastAt: row.lastAt },
      info: {
        ...kept,
        agent,
        session: this.#freeName(sid, aid, row.id, row.deleted),
        ...unwritten,
        ...(kept.events === undefined ? {} : { events: 0 }),
        // A reader who saw more than is left must begin anew.
        epoch: this.#platform.randomId(8),
        ...(row.info.forkedFrom ? { leaf: row.info.forkedFrom.at } : {}),
      },
    };
  }

  #guessed(sid: number): Identity {
    const { aid, id } = this.#nameFound(sid);
    const session = this.#freeName(sid, aid, id, 0);
    const [first] = this.#found.seqs(sid);
    const lastAt =
      (first === undefined ? undefined : this.#found.entry(sid, first)?.at) ?? this.#platform.now();
    const at = instant(lastAt);
    const forkedFrom = this.#forkedFrom(sid);
    const isFork = forkedFrom !== null && sidOf(forkedFrom) === 1;
    const deleted = this.#found.deletedSids.has(sid) && !isFork ? 1 : 0;
    return {
      ...{ aid, key: this.#freeKey(this.#keyFound(sid)), forkedFrom },
      ...{ deleted, head: undefined, tools: null, lastAt },
      info: {
        ...{ session, agent: this.#agentName(aid), epoch: this.#platform.randomId(8) },
        ...unwritten,
        ...(this.#found.numbered.has(sid) ? { events: 0 } : {}),
        ...{ createdAt: at, lastAt: at },
      },
    };
  }

  #nameFound(sid: number): { aid: number; id: string | undefined } {
    for (const row of this.#found.requests.values())
      if (row.sid === sid && row.session !== "") return { aid: row.aid, id: row.session };
    const named = this.#found.sessionNames.get(sid);
    if (named) return named;
    const [aid = 1] = [...this.agents.keys(), ...this.#found.agents.keys()];
    return { aid, id: undefined };
  }

  #keyFound(sid: number): string | undefined {
    for (const seq of this.#found.seqs(sid)) {
      const row = this.#found.entry(sid, seq);
      // A message may quote any id; what these say of themselves is no quotation.
      if (row?.kind !== "call.started" && row?.kind !== "approval.asked") continue;
      const key = idPattern.exec(row.data)?.[1];
      if (key !== undefined) return key;
    }
    for (const row of this.#found.requests.values()) {
      const key = row.sid === sid && row.receipt !== null && idPattern.exec(row.receipt)?.[1];
      if (key) return key;
    }
    return this.#found.sessionKeys.get(sid);
  }

  /** A damaged row key can show one session twice. */
  #freeName(sid: number, aid: number, id: string | undefined, deleted: number): string {
    if (id === undefined) return `salvaged-${sid}`;
    return deleted === 0 && this.#names.has(nameOf(aid, id)) ? `salvaged-${sid}` : id;
  }

  #freeKey(key: string | undefined): string {
    return key === undefined || this.#sidByKey.has(key) ? this.#platform.randomId(12) : key;
  }

  /** A first message on a branch of another session: it was forked there. */
  #forkedFrom(sid: number): number | null {
    for (const seq of this.#found.seqs(sid)) {
      const parent = this.#found.entry(sid, seq)?.parent ?? null;
      if (parent !== null) return sidOf(parent) < sid ? parent : null;
    }
    return null;
  }

  /** A session says whose it is twice: by a number and by a name. */
  #aidOf(aid: number, name: string): number {
    if (this.#found.agents.get(aid)?.name === name) return aid;
    const named = [...this.#found.agents].find(([, agent]) => agent.name === name);
    return named?.[0] ?? aid;
  }

  #agentName(aid: number, named?: string): string {
    const known = this.agents.get(aid);
    if (known) return known.name;
    const row = this.#found.agents.get(aid);
    const name = row?.name ?? named ?? this.#found.agentNames.get(aid);
    const isTaken = [...this.agents.values()].some((agent) => agent.name === name);
    const agent = {
      name: name === undefined || isTaken ? `salvaged-${aid}` : name,
      createdAt: row?.createdAt ?? this.#platform.now(),
      ...(row?.kept ? { kept: row.kept } : {}),
    };
    this.agents.set(aid, agent);
    return agent.name;
  }
}

const unwritten: Pick<SessionInfo, "state" | "head" | "pending" | "approvals" | "turns" | "usage"> =
  { state: "idle", head: 0, pending: 0, approvals: 0, turns: 0, usage: noUsage };

function nameOf(aid: number, id: string): string {
  return `${aid} ${id}`;
}
