// Connections: the one of each session to its agent's engine, opened when it is needed.
//
//   One that stays is closed when its session goes or the host stops; every other one when its run ends.

import type { Connection, Engine, EngineHost, HarnessDraft } from "../engine/port.ts";
import type { SessionRow } from "../log/session-row.ts";
import { harnessState } from "../session/harness-table.ts";
import type { Sessions } from "./sessions.ts";

/** What a harness began by itself. */
export type Opened = Parameters<EngineHost["outside"]>[0];

/** What connections may ask for. */
export interface ConnectionHouse {
  outside(sid: number, opened: Opened): Promise<{ commandId: string }>;
  record(sid: number, drafts: readonly HarnessDraft[], by?: string): Promise<void>;
  /** Told of a connection that closes; the answer settles with it and never rejects. */
  closing(work: Promise<void>): Promise<void>;
}

export class Connections {
  readonly #sessions: Sessions;
  readonly #house: ConnectionHouse;
  readonly #open = new Map<number, { readonly aid: number; readonly connection: Connection }>();
  readonly #closing = new Map<number, { readonly aid: number; readonly closed: Promise<void> }>();

  constructor(sessions: Sessions, house: ConnectionHouse) {
    this.#sessions = sessions;
    this.#house = house;
  }

  /** The session's connection, made where there is none. */
  open({ sid, aid, id, epoch, info }: SessionRow, engine: Engine): Connection {
    let connection = this.#open.get(sid)?.connection;
    if (!connection) {
      connection = engine.open(
        { agent: info.agent, session: id, epoch },
        {
          outside: (opened) => this.#house.outside(sid, opened),
          record: (drafts, by) => this.#house.record(sid, drafts, by),
          harness: () => harnessState(this.#sessions.ground.sql, sid),
        },
      );
      this.#open.set(sid, { aid, connection });
    }
    return connection;
  }

  stays(sid: number): boolean {
    return this.#open.get(sid)?.connection.stays === true;
  }

  sids(): number[] {
    return [...this.#open.keys()];
  }

  /** Those of an agent, with the ones that are closing. */
  sidsOf(aid: number): number[] {
    return [...this.#open, ...this.#closing].filter(([, it]) => it.aid === aid).map(([sid]) => sid);
  }

  /** Settles when it is closed, also where it was closing already, or there is none. */
  close(sid: number, why?: string): Promise<void> {
    const before = this.#closing.get(sid)?.closed;
    const open = this.#open.get(sid);
    if (!open) return before ?? Promise.resolve();
    this.#open.delete(sid);
    const { aid, connection } = open;
    const closing = this.#house.closing((async () => connection.close(why))());
    const closed = Promise.all([before, closing]).then(() => {
      if (this.#closing.get(sid)?.closed === closed) this.#closing.delete(sid);
    });
    this.#closing.set(sid, { aid, closed });
    return closed;
  }
}
