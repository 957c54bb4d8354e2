// What a session's stream tells: frames without a gap and without repeats, whatever is sent again.
//
//   An entry that was told is passed over; one that does not follow the last is never told: a fresh baseline is asked.
//   Of types that only a newer host knows, nothing is told; entries of such kinds are.

import { type Entry, Partial, SessionState } from "@lichen/wire";
import type { Frame } from "../api.ts";
import { recordOf } from "../http/refusal.ts";
import type { Message } from "./connection.ts";
import { type Cursor, cursorOf } from "./cursor.ts";
import { readBaseline, readEntry } from "./read-entry.ts";
import type { Reader } from "./watch.ts";

export class SessionReader implements Reader<Frame> {
  #at: Cursor | undefined;
  #hasBegun = false;
  #isResumed: boolean;

  constructor(after: string | undefined) {
    this.#at = after === undefined ? undefined : cursorOf(after);
    this.#isResumed = after !== undefined;
  }

  get cursor(): string | undefined {
    return this.#at && `${this.#at.epoch}.${this.#at.seq}`;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  read({ type, id, data }: Message): Frame | undefined {
    switch (type) {
      case "baseline":
      case "reset": {
        const baseline = readBaseline(JSON.parse(data));
        const { epoch, head } = baseline;
        this.#at = { epoch, seq: head };
        const isFirst = !this.#hasBegun && !this.#isResumed;
        this.#hasBegun = true;
        return { type: isFirst ? "baseline" : "reset", id: `${epoch}.${head}`, data: baseline };
      }
      case "entry":
        return this.#entry(id, readEntry(JSON.parse(data)));
      case "partial":
        return { type, data: Partial.parse(JSON.parse(data)) };
      case "state": {
        const { state, pending, approvals } = recordOf(JSON.parse(data)) ?? {};
        return {
          type,
          data: {
            state: SessionState.parse(state),
            pending: Number(pending),
            approvals: Number(approvals),
          },
        };
      }
      default:
        return undefined;
    }
  }

  #entry(id: string | undefined, entry: Entry): Frame | undefined {
    const at = this.#at;
    const given = id === undefined ? undefined : cursorOf(id);
    if (at && given?.epoch === at.epoch && entry.seq === given.seq) {
      if (entry.seq <= at.seq) return undefined;
      if (entry.seq === at.seq + 1) {
        this.#at = given;
        this.#hasBegun = true;
        return { type: "entry", id: `${given.epoch}.${given.seq}`, data: entry };
      }
    }
    this.#at = undefined;
    this.#isResumed = true;
    throw new Error(`entry ${entry.seq} does not follow what came before it`);
  }
}
