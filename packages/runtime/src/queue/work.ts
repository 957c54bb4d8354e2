// A command as the work an engine is given.

import type { EntryData, JsonObject } from "@lichen/wire";
import { textOf } from "@lichen/wire";
import type { Work } from "../engine/port.ts";
import { readBlob } from "../log/blob.ts";
import { entryRow } from "../log/entry-log.ts";
import type { SessionRow } from "../log/session-row.ts";
import { restore } from "../log/spill.ts";
import type { Ground } from "../store/ground.ts";
import { idOf, seqOf } from "../store/keys.ts";
import type { CommandRow } from "./command-table.ts";

export function workOf(
  { sql }: Ground,
  row: SessionRow,
  command: CommandRow,
  resumed: boolean,
): Work {
  const stored = JSON.parse(entryRow(sql, command.cid)!.data) as JsonObject;
  const data = restore(stored, (sha256) => readBlob(sql, sha256)) as EntryData["command.queued"];
  return {
    commandId: idOf("cmd", row.key, seqOf(command.cid)),
    type: command.type,
    text: textOf(data.text),
    images: data.images ?? [],
    ...(data.source === undefined ? {} : { source: data.source }),
    recoveries: command.recoveries,
    resumed,
  };
}
