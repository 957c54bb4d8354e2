// The folder of a store: made where it is missing, and refused in words where the computer will not have it.

import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "@lichen/wire";

/** Makes a folder and those above it that are missing, for its owner only. `label` is how a refusal calls it. */
export function makeFolder(path: string, label: string): void {
  try {
    const missing: string[] = [];
    for (let at = path; !isThere(at); at = dirname(at)) missing.push(at);
    // Not Node's own way through all levels: that never ends where the system lets nobody make a folder (/proc).
    for (const at of missing.toReversed()) makeOne(at);
  } catch (error) {
    throw toSystemRefusal(error, label);
  }
  if (!statSync(path).isDirectory())
    throw new Fault("invalid", `${label} is a file, and has to be a folder: choose another place`);
}

/** The refusal for what the operating system says of a file or folder; any other error as it is. */
export function toSystemRefusal(error: unknown, label: string): unknown {
  if (!(error instanceof Error) || Fault.is(error) || !("code" in error)) return error;
  switch (error.code) {
    case "ENOSPC":
    case "EDQUOT":
      return new Fault(
        "unavailable",
        `${label} cannot be written, since the disk is full; what was committed before is safe: free some space and try again`,
        { cause: error },
      );
    case "EROFS":
      return new Fault(
        "unreadable",
        `${label} cannot be written, since its file system is read-only: choose another place`,
        { cause: error },
      );
    case "EACCES":
    case "EPERM":
      return new Fault(
        "unreadable",
        `${label} cannot be read and written by this user: check its rights, or choose another place`,
        { cause: error },
      );
    case "EEXIST":
    case "ENOTDIR":
      return new Fault(
        "invalid",
        `${label} cannot be made, since a file stands where a folder has to be: choose another place`,
        { cause: error },
      );
    case "EISDIR":
      return new Fault(
        "invalid",
        `${label} cannot be read or written, since a folder stands where a file has to be: remove that folder, or choose another place`,
        { cause: error },
      );
    case "ENOENT":
    case "ELOOP":
    case "ENAMETOOLONG":
      return new Fault("invalid", `${label} cannot be made there: choose another place`, {
        cause: error,
      });
    case "EIO":
      return new Fault(
        "unavailable",
        `${label} cannot be read or written, since the disk fails: check that it is healthy`,
        { cause: error },
      );
    default:
      return error;
  }
}

function isThere(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return true;
  // The root is above everything, even where it cannot be looked at.
  return path === dirname(path);
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody else was faster.
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder) throw error;
  }
}
