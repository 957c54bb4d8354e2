// What SQLite's own error codes mean to a person: the few that somebody can act on become refusals.

import { Fault } from "@lichen/wire";

const busy = 5;
const readOnly = 8;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;

/** The refusal for an error of SQLite on the store called `label` (a file name, never a path); any other error as it is. */
export function toRefusal(error: unknown, label: string): unknown {
  if (!(error instanceof Error) || Fault.is(error) || !("errcode" in error)) return error;
  // Extended codes keep their primary code in the low byte.
  switch (Number(error.errcode) & 0xff) {
    case corrupt:
    case notADatabase:
      return new Fault(
        "unreadable",
        `the store ${label} is damaged or no SQLite database; nothing was changed: open it read-only to copy what is readable, or restore a backup`,
        { cause: error },
      );
    case cannotOpen:
      return new Fault(
        "unreadable",
        `the store ${label} cannot be opened: check that its folder exists and that this user may read and write it`,
        { cause: error },
      );
    case readOnly:
      return new Fault(
        "unreadable",
        `the store ${label} is read-only and cannot be changed: check the rights of the file, or open it for writing`,
        { cause: error },
      );
    case full:
      return new Fault(
        "unavailable",
        `the disk of the store ${label} is full; what was committed before is safe: free some space and try again`,
        { cause: error },
      );
    case busy:
      return new Fault(
        "unavailable",
        `another process is writing to the store ${label}: stop it, or try again when it is done`,
        { cause: error },
      );
    default:
      return error;
  }
}
