// A recorded outcome as an engine hands it on: long texts whole again, images inline.

import { type BlobRef, type EntryData, type JsonObject, textOf } from "@lichen/wire";
import type { Outcome, OutcomeBlock } from "../engine/port.ts";
import { entryRow } from "../log/entry-log.ts";
import { restore } from "../log/spill.ts";
import type { Sql } from "../store/sql.ts";

type ReadBlob = (sha256: string) => Uint8Array | undefined;

/** The outcome in the entry at `eid`. */
export function outcomeOf(sql: Sql, eid: number, read: ReadBlob): Outcome {
  const stored = JSON.parse(entryRow(sql, eid)!.data) as JsonObject;
  const data = restore(stored, read) as EntryData["message.tool"];
  return {
    content: data.content.map((block): OutcomeBlock =>
      block.type === "text"
        ? { type: "text", text: textOf(block.text) }
        : { type: "text", text: `[image ${describeImage(block.image)}, shown before]` },
    ),
    isError: data.isError,
    ...(data.data === undefined ? {} : { data: data.data }),
  };
}

function describeImage(image: BlobRef): string {
  return `${image.mimeType}, ${image.bytes} bytes`;
}
