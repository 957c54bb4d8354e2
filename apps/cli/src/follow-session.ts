// A session's recorded entries in their order, each once, out of a watch that is now and then begun anew.
//
// What a watch leaves out (before its first baseline, or where its reader fell behind) is read page by page.

import { setTimeout as wait } from "node:timers/promises";
import type { Frame, Session } from "@lichen/client";
import { type Baseline, type Entry, Fault } from "@lichen/wire";

export interface Follower {
  entry(entry: Entry): void;
  /** The session stands like this; what led to it is told next. */
  past(baseline: Baseline): void;
  /** The session stands like this; what led to it was told, or is left out at the beginning. */
  stands(baseline: Baseline, isFirst: boolean): void;
  /** The session of that name is another one now: its entries count from 1 again. */
  isAnother(): void;
  /** Every frame that is no entry and no baseline. */
  other(frame: Exclude<Frame, { type: "baseline" | "reset" | "entry" }>): void;
  /** Settles when what was told so far has been taken. */
  taken(): Promise<void>;
}

/** Follows until the signal, or the session's end. */
export async function followSession(
  session: Session,
  follower: Follower,
  options: {
    readonly fromStart: boolean;
    /** The entry after which the beginning is, where it is neither the start nor now. */
    readonly after?: number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { fromStart, signal } = options;
  let at: { epoch: string; seq: number } | undefined;
  for await (const frame of session.watch({ signal })) {
    switch (frame.type) {
      case "baseline":
      case "reset": {
        const { epoch, head, entries } = frame.data;
        follower.past(frame.data);
        const isFirst = at === undefined;
        if (at !== undefined && at.epoch !== epoch) follower.isAnother();
        if (at?.epoch !== epoch)
          at = { epoch, seq: isFirst ? (options.after ?? (fromStart ? 0 : head)) : 0 };
        const known = entries[0]?.seq ?? head + 1;
        for await (const page of pages(session, at.seq + 1, known - 1, signal)) {
          for (const entry of page) follower.entry(entry);
          await follower.taken();
        }
        for (const entry of entries) if (entry.seq > at.seq) follower.entry(entry);
        at.seq = head;
        follower.stands(frame.data, isFirst);
        break;
      }
      case "entry":
        if (at !== undefined) at.seq = frame.data.seq;
        follower.entry(frame.data);
        break;
      case "partial":
      case "state":
      case "outage":
      case "back":
        follower.other(frame);
        break;
    }
    await follower.taken();
  }
}

const pageLimit = 200;
const pauseMs = 500;

/** The entries from `first` to `last`, in pages that follow each other. Outlives the host's restarts. */
export async function* pages(
  session: Session,
  first: number,
  last: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  for (let next = first; next <= last && !signal.aborted;) {
    const end = Math.min(last, next + pageLimit - 1);
    const entries = (await readBefore(session, end + 1, signal)).filter(({ seq }) => seq >= next);
    const from = entries[0]?.seq;
    if (from === undefined) return;
    // A page holds what its bytes allow, the newest first.
    yield* pages(session, next, from - 1, signal);
    yield entries;
    next = end + 1;
  }
}

async function readBefore(
  session: Session,
  before: number,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  for (;;) {
    try {
      return (await session.read({ limit: pageLimit, before })).entries;
    } catch (error) {
      if (!Fault.is(error) || !error.retryable || signal.aborted) throw error;
      await wait(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
