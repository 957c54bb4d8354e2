// Settlements, read from the entry that wrote them: exact for ever, whatever branch is selected.

import { type EntryData, type JsonObject, type Settlement, textOf } from "@lichen/wire";
import { readBlob } from "../log/blob.ts";
import { entryRow } from "../log/entry-log.ts";
import { restore } from "../log/spill.ts";
import type { CommandRow } from "../queue/command-table.ts";
import { instant } from "../store/ground.ts";
import { idOf, seqOf } from "../store/keys.ts";
import type { Sql } from "../store/sql.ts";

export function settlementOf(sql: Sql, key: string, command: CommandRow): Settlement | undefined {
  if (command.settled === null) return undefined;
  const row = entryRow(sql, command.settled)!;
  const stored = JSON.parse(row.data) as JsonObject;
  const data = restore(stored, (sha256) => readBlob(sql, sha256)) as EntryData["run.settled"];
  return {
    commandId: idOf("cmd", key, seqOf(command.cid)),
    terminal: data.terminal,
    answer: textOf(data.answer),
    usage: data.usage,
    toolCalls: data.toolCalls,
    ...(data.diagnostic === undefined ? {} : { diagnostic: data.diagnostic }),
    ...(data.retryable === undefined ? {} : { retryable: data.retryable }),
    ...(data.meta === undefined ? {} : { meta: data.meta }),
    at: instant(row.at),
  };
}
