// Whether files are as they were when they were read, from their `stat` alone.
//
//   A file that changed so shortly before it was read that a second change could carry the same time is not trusted,
//   so no edit is ever missed.

import { type Stats, statSync } from "node:fs";
import { standsForNothing } from "@lichen/engine/node";

/** File systems tell times apart to a few milliseconds, the coarsest in common use to two seconds. */
const racyMs = 2_000;

export class Stamps {
  readonly #stamps = new Map<string, string>();
  #isRacy = false;

  /** Remembers how a path stands; note it before its content is read. Paths that do not exist count too. */
  note(path: string): void {
    const stat = statOf(path);
    this.#stamps.set(path, stampOf(stat));
    if (stat && Date.now() - stat.mtimeMs < racyMs) this.#isRacy = true;
  }

  get isFresh(): boolean {
    if (this.#isRacy) return false;
    for (const [path, stamp] of this.#stamps) if (stampOf(statOf(path)) !== stamp) return false;
    return true;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() === true && standsForNothing(path) ? undefined : found;
  } catch {
    // Not readable now: the same as absent until that changes.
    return undefined;
  }
}

function stampOf(stat: { mtimeMs: number; size: number; ino: number } | undefined): string {
  return stat ? `${stat.mtimeMs}:${stat.size}:${stat.ino}` : "absent";
}
