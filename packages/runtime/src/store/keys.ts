// Keys: how (session, seq) is one integer in the database and one id on the wire.
//
// An entry's row key is sid * 2^30 + seq: a session's entries lie together in order, no second index is needed, and
// the number stays below 2^53 for eight million sessions. On the wire it is `ent_<session key>_<seq>`, where the
// session key is random, made once and never reused.

const span = 2 ** 30;

export function eidOf(sid: number, seq: number): number {
  return sid * span + seq;
}

export function sidOf(eid: number): number {
  return Math.floor(eid / span);
}

export function seqOf(eid: number): number {
  return eid % span;
}

/** The row keys of a session: from `first` to `last`, both included. */
export function eidRange(sid: number): { first: number; last: number } {
  return { first: sid * span, last: sid * span + span - 1 };
}

type Prefix = "ent" | "cmd" | "apr";

export function idOf(prefix: Prefix, key: string, seq: number): string {
  return `${prefix}_${key}_${seq}`;
}

/** The session key and seq inside an id, or undefined where it is none of ours. */
export function parseId(prefix: Prefix, id: string): { key: string; seq: number } | undefined {
  const match = /^([a-z]{3})_([0-9a-z]+)_([1-9][0-9]{0,9})$/.exec(id);
  if (!match || match[1] !== prefix) return undefined;
  const seq = Number(match[3]);
  return seq < span ? { key: match[2]!, seq } : undefined;
}
