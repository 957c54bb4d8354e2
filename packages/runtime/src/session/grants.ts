// Grants of sessions: what hosts delivered, and all that decides about a call now.
//
//   Z3  A delivery counts from the moment it is made: the next call is decided by it, whatever run makes it.
//   Z4  A lower version is refused, an equal one with other grants replaces, the very same changes nothing.
//   Z5  What is delivered stands in the session's log and outlives the process; a fork begins with its parent's.
//   Z6  What cannot be read fails closed.

import type { Access, Grants } from "@lichen/capability";
import { canonicalJson, Fault, GrantsDelivery, utf8Bytes } from "@lichen/wire";
import type { SessionWriter } from "../log/session-row.ts";
import type { Sessions } from "../queue/sessions.ts";
import { type DeliveredGrants, deliveredGrants } from "./grant-table.ts";
import { parsed } from "./parsed.ts";

/** An agent's own rules, asked for at every call. */
export type AccessRules = () => Omit<Access, "delivered">;

const mostBytes = 262_144;

export class GrantBook {
  readonly #sessions: Sessions;
  readonly #rules = new Map<number, AccessRules>();
  /** Deliveries that are not in the store yet, newest last. */
  readonly #pending = new Map<number, DeliveredGrants[]>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  attach(aid: number, rules: AccessRules | undefined): void {
    if (rules) this.#rules.set(aid, rules);
  }

  detach(aid: number): void {
    this.#rules.delete(aid);
  }

  /** All that decides about a call of this session, as it stands at this moment. */
  access(aid: number, sid: number): Access {
    try {
      const delivered = this.#current(sid)?.grants;
      return { ...this.#rules.get(aid)?.(), ...(delivered ? { delivered } : {}) };
    } catch (error) {
      this.#sessions.ground.platform.report(error);
      return { strict: true };
    }
  }

  /** Counts when this returns; settles once it is durable. */
  deliver(sid: number, given: GrantsDelivery): Promise<void> {
    const delivery = parsed(GrantsDelivery, given);
    const bytes = utf8Bytes(JSON.stringify(delivery.grants));
    if (bytes > mostBytes)
      throw new Fault(
        "too_large",
        `grants: ${bytes} bytes of JSON, and ${mostBytes} are the most: deliver fewer keys.`,
      );
    const current = this.#current(sid);
    mayFollow(current, delivery);
    if (current && isSame(current, delivery))
      return this.#sessions.ground.writer.pending(sid) ?? Promise.resolve();
    const waiting = this.#pending.get(sid) ?? [];
    this.#pending.set(sid, [...waiting, delivery]);
    return this.#sessions
      .write(sid, (tx, session) => {
        this.#record(session, delivery);
        // From its commit on the store says so itself.
        tx.committed(() => this.#settled(sid, delivery));
      })
      .catch((error: unknown) => {
        this.#settled(sid, delivery);
        throw error;
      });
  }

  #record(session: SessionWriter, delivery: GrantsDelivery): void {
    const stored = deliveredGrants(this.#sessions.ground.sql, session.row.sid);
    mayFollow(stored, delivery);
    if (!stored || !isSame(stored, delivery))
      session.append({ kind: "grants.delivered", data: delivery });
  }

  #settled(sid: number, delivery: DeliveredGrants): void {
    const left = this.#pending.get(sid)?.filter((it) => it !== delivery) ?? [];
    if (left.length > 0) this.#pending.set(sid, left);
    else this.#pending.delete(sid);
  }

  #current(sid: number): DeliveredGrants | undefined {
    return this.#pending.get(sid)?.at(-1) ?? deliveredGrants(this.#sessions.ground.sql, sid);
  }
}

function mayFollow(current: DeliveredGrants | undefined, { version }: GrantsDelivery): void {
  if (!current || version >= current.version) return;
  throw new Fault(
    "stale",
    `Grants of version ${version} come after those of version ${current.version}, which stay: deliver a version of at least that.`,
  );
}

function isSame(a: DeliveredGrants, b: { version: number; grants: Grants }): boolean {
  return (
    a.version === b.version && canonicalJson({ ...a.grants }) === canonicalJson({ ...b.grants })
  );
}
