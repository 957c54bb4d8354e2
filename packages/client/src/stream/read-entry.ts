// Entries and baselines where they come in.
//
// An entry's frame is checked; its data stays as it came, since a newer host may hold kinds and fields that this
// version does not know, and large data stands as a reference. Whoever shows an entry asks `isReadable` first.

import { Baseline, Entry, entryData, type Kind } from "@lichen/wire";
import { recordOf } from "../http/refusal.ts";

const Around = Baseline.omit({ entries: true });
const Frame = Entry.omit({ data: true, meta: true });

/** Reads an entry out of parsed JSON. */
export function readEntry(value: unknown): Entry {
  const { data, meta } = recordOf(value) ?? {};
  const frame = Frame.parse(value);
  // Out of `JSON.parse`, so that an object is JSON throughout.
  const whole = recordOf(data) as Entry["data"] | undefined;
  if (!whole) throw new Error(`entry ${frame.id} has no data`);
  return { ...frame, data: whole, ...(recordOf(meta) ? { meta: meta as Entry["data"] } : {}) };
}

export function readBaseline(value: unknown): Baseline {
  const entries = recordOf(value)?.["entries"];
  if (!Array.isArray(entries)) throw new Error("a baseline without entries");
  return { ...Around.parse(value), entries: entries.map(readEntry) };
}

/** Whether the data is what this version knows of the kind. */
export function isReadable(entry: Entry): boolean {
  return (
    Object.hasOwn(entryData, entry.kind) &&
    entryData[entry.kind as Kind].safeParse(entry.data).success
  );
}
