// Empty folders that stand where a sandbox keeps something from being made: a mount needs something to stand on.
//
// One is known by its mode and means "nothing is there" to whoever reads. It goes with the command that it serves; one
// that a killed process left goes once somebody opens its folder. While a sandbox is mounted on it, it stays: to take it
// away would take the mount away as well.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  type Stats,
  utimesSync,
} from "node:fs";
import { dirname } from "node:path";

const placeholderMode = 0o1555;
const sharedMark = 0;

/** Whether nothing stands at a path but what a command was given to stand on. */
export function standsForNothing(path: string): boolean {
  try {
    return isPlaceholder(lstatSync(path, { throwIfNoEntry: false }));
  } catch {
    return false;
  }
}

export function isPlaceholder(found: Stats | undefined): boolean {
  return found?.isDirectory() === true && (found.mode & 0o7777) === placeholderMode;
}

/**
 * Lets a placeholder stand at a path. False where something of somebody's stands there. `mark` (a whole number of
 * seconds, not 0) stands in its time for as long as it serves this taker alone.
 */
export function takePlaceholder(path: string, mark: number): boolean {
  let isShared = false;
  try {
    mkdirSync(path, { mode: placeholderMode });
    chmodSync(path, placeholderMode);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    if (!standsForNothing(path)) return false;
    isShared = mountPoints().has(path);
  }
  try {
    const seconds = isShared ? sharedMark : mark;
    utimesSync(path, seconds, seconds);
  } catch {
    // Another user's: it cannot be taken away from here either.
  }
  return true;
}

/** Takes away what `takePlaceholder` of the same mark let stand, unless it serves another sandbox or has become its owner's. */
export function leavePlaceholder(path: string, mark: number): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!isPlaceholder(found)) return;
  if (found?.mtimeMs !== mark * 1_000 && mountPoints().has(path)) return;
  removeEmpty(path);
}

/** Takes away the placeholders at these paths, or above them, that a killed process of this user left. */
export function sweepPlaceholders(paths: readonly string[]): void {
  const left = new Set(paths.flatMap((path) => placeholderAt(path) ?? []));
  if (left.size === 0) return;
  const inUse = mountPoints();
  for (const path of left) if (!inUse.has(path)) removeEmpty(path);
}

function placeholderAt(path: string): string | undefined {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    const found = statOf(at);
    if (!found) continue;
    return isPlaceholder(found) && found.uid === process.getuid?.() ? at : undefined;
  }
  return undefined;
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // What cannot be looked at is not this user's.
    return undefined;
  }
}

function removeEmpty(path: string): void {
  try {
    if (readdirSync(path).length === 0) rmdirSync(path);
  } catch {
    // Its owner has put something there, or has taken it away: it is theirs.
  }
}

/** What is mounted in the sandboxes of this user's processes. Sandboxes exist on Linux alone. */
function mountPoints(): Set<string> {
  const points = new Set<string>();
  if (process.platform !== "linux") return points;
  const seen = new Set([namespaceOf("self")]);
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const namespace = namespaceOf(pid);
    if (namespace === undefined || seen.has(namespace)) continue;
    try {
      const lines = readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n");
      for (const line of lines) points.add(unescaped(line.split(" ")[4] ?? ""));
      seen.add(namespace);
    } catch {
      // It has ended.
    }
  }
  return points;
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    // It has ended, or is another user's.
    return undefined;
  }
}

/** The kernel writes blanks and backslashes of a path as octal numbers, byte by byte. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
