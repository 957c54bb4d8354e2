// The entries of a command up to its run: as it is queued, and as it begins.

import type { BlobRef, JsonObject, WorkType } from "@lichen/wire";
import type { Work } from "../engine/port.ts";
import { metaOf } from "../log/entry-log.ts";
import type { SessionWriter } from "../log/session-row.ts";
import type { Ground } from "../store/ground.ts";
import { eidOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";
import { type CommandRow, insertCommand, markRunning } from "./command-table.ts";
import { workOf } from "./work.ts";

export interface QueuedWork {
  readonly type: WorkType;
  readonly text: string;
  readonly images?: BlobRef[];
  readonly delivery?: "follow_up" | "steer" | "reject" | undefined;
  readonly source?: string;
  readonly requestId?: string;
  readonly identity?: string | undefined;
  readonly meta?: JsonObject | undefined;
}

/** Answers the command's `seq`. */
export function writeQueued(sql: Sql, session: SessionWriter, queued: QueuedWork): number {
  const { seq } = session.append({
    kind: "command.queued",
    requestId: queued.requestId,
    meta: queued.meta,
    by: queued.identity,
    command: session.info.head + 1,
    data: {
      type: queued.type,
      text: queued.text,
      ...(queued.images?.length ? { images: queued.images } : {}),
      ...(queued.delivery ? { delivery: queued.delivery } : {}),
      ...(queued.source === undefined ? {} : { source: queued.source }),
    },
  });
  insertCommand(sql, {
    cid: eidOf(session.row.sid, seq),
    type: queued.type,
    delivery: queued.delivery ?? null,
    request: queued.requestId ?? null,
    identity: queued.identity ?? null,
  });
  return seq;
}

/** The run begins: its text stands where the model reads it. Answers the engine's work. */
export function writeStarted(
  ground: Ground,
  session: SessionWriter,
  command: CommandRow,
  engine: string,
): Work {
  const seq = seqOf(command.cid);
  const requestId = command.request ?? undefined;
  const work = workOf(ground, session.row, command, false);
  const started = session.append({
    kind: "run.started",
    command: seq,
    requestId,
    data: { type: command.type, engine },
  });
  markRunning(ground.sql, command.cid, eidOf(session.row.sid, started.seq));
  if (command.type !== "compact" && (work.text !== "" || command.type === "prompt"))
    session.append({
      kind: "message.user",
      command: seq,
      requestId,
      by: command.identity ?? work.source,
      meta: metaOf(ground.sql, command.cid),
      data: { text: work.text, ...(work.images.length ? { images: [...work.images] } : {}) },
    });
  return work;
}
