// One transaction on one session: the way every part of an owner writes to a log.

import { Fault } from "@lichen/wire";
import { type Publish, type SessionRow, sessionBySid, SessionWriter } from "../log/session-row.ts";
import type { Ground } from "../store/ground.ts";
import type { Tx } from "../store/writer.ts";

export class Sessions {
  readonly ground: Ground;
  readonly #publish: Publish;

  constructor(ground: Ground, publish: Publish) {
    this.ground = ground;
    this.#publish = publish;
  }

  /** Opens a row for writing inside `tx`; its entries are published once they are durable. */
  writer(tx: Tx, row: SessionRow): SessionWriter {
    return new SessionWriter(this.ground, tx, row, this.#publish);
  }

  /** Commits `body` on a session that must exist. */
  write<T>(sid: number, body: (tx: Tx, session: SessionWriter) => T): Promise<T> {
    return this.ground.writer.commit((tx) => {
      const row = sessionBySid(this.ground.sql, sid);
      if (!row) throw new Fault("closed", "The session was deleted.");
      return body(tx, this.writer(tx, row));
    });
  }
}
