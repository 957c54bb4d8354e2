// Numbers of the machine API's events, for entries that are told or read in the order of the log.
//
//   RH2  An event's number is how many events the log has up to it.

import { type Entry, isMachineEvent, type SessionInfo } from "@lichen/wire";
import type { Numbered } from "./watcher.ts";

/** The newest entries of a session, each with its number; `info` is the session after the last of them. */
export function numbered(
  { events }: Pick<SessionInfo, "events">,
  entries: readonly Entry[],
): Numbered[] {
  if (events === undefined) return entries.map((data) => ({ data }));
  return numberedFrom(events - entries.filter(isMachineEvent).length, entries);
}

/** Entries that follow each other, where `before` events stand before the first of them. */
export function numberedFrom(before: number, entries: readonly Entry[]): Numbered[] {
  let n = before;
  return entries.map((data) => (isMachineEvent(data) ? { data, n: ++n } : { data }));
}
