// What SQLite's own error codes mean to a person: the few that somebody can act on become refusals.

import { Fault } from "@lichen/wire";
import { toSystemRefusal } from "./folder.ts";

const busy = 5;
const readOnly = 8;
const inputOutput = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;

/** Whether another connection holds what SQLite was asked for. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && primaryOf(error) === busy;
}

/** Whether a refusal is that somebody else holds a lease or a file: it may be waited for, unlike a disk that is full. */
export function isHeld(error: unknown): error is Fault {
  return Fault.is(error) && error.code === "unavailable" && isBusy(error.cause);
}

/** Whether a refusal tells of a damaged file: part of it may still be readable. */
export function isDamage(error: unknown): boolean {
  if (!Fault.is(error) || !(error.cause instanceof Error) || !("errcode" in error.cause))
    return false;
  const code = primaryOf(error.cause as Error & { errcode: unknown });
  return code === corrupt || code === notADatabase;
}

/**
 * The refusal for an error of SQLite or of the system on the store called `label` (a file name, never a path); any
 * other error as it is.
 */
export function toRefusal(error: unknown, label: string): unknown {
  if (!(error instanceof Error) || Fault.is(error)) return error;
  if (!("errcode" in error)) return toSystemRefusal(error, `the store ${label}`);
  switch (primaryOf(error)) {
    case corrupt:
    case notADatabase:
      return new Fault(
        "unreadable",
        `the store ${label} is damaged or no SQLite database; nothing was changed: copy what is readable with \`lichen doctor --salvage <new folder>\`, or restore a backup`,
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
    case inputOutput:
      return new Fault(
        "unavailable",
        `the disk of the store ${label} cannot be read or written; what was committed before is safe: check that it has space left and is healthy, and try again`,
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

/** Extended codes keep their primary code in the low byte. */
function primaryOf(error: Error & { readonly errcode: unknown }): number {
  return Number(error.errcode) & 0xff;
}
