// pi's session files: JSON lines, appended to; a header, then entries with ids.

import type { Json, JsonObject } from "@lichen/wire";
import { isObject, objectAt, textAt } from "./codec.ts";

/** Reads session files of this computer. */
export interface SessionFiles {
  /** The folder that a conversation belongs to; undefined where there is no such file, or it says none. */
  folder(file: string): string | undefined;
  isSameFolder(a: string, b: string): boolean;
  /** The id of the newest whole entry; undefined where there is none yet. */
  lastId(file: string): Promise<string | undefined>;
  /** Entries after the one of this id (all, where none is named); undefined where the file or the entry is not there. */
  entriesAfter(file: string, id: string | undefined): Promise<JsonObject[] | undefined>;
}

/** One line of a session file; undefined where it is torn or no object. */
export function entryOf(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function idOf(entry: JsonObject): string | undefined {
  return textAt(entry, "type") === "session" ? undefined : textAt(entry, "id") || undefined;
}

/** The messages of entries, in order. */
export function messagesOf(entries: readonly JsonObject[]): JsonObject[] {
  return entries
    .filter(({ type }) => type === "message")
    .map((entry) => objectAt(entry, "message"));
}
