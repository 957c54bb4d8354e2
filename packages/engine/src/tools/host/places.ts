// Where paths lead and what stands there: names and identities of files, for those who keep tools away from some.

import { accessSync, type BigIntStats, constants, realpathSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

const foldsCase = process.platform === "darwin" || process.platform === "win32";
const folded = (path: string) => path.normalize("NFC").toLowerCase();

/** Whether a place is `path` or lies below it, as this system tells names apart. */
export function isWithin(place: string, path: string): boolean {
  if (foldsCase) return isBelow(folded(place), folded(path));
  return isBelow(place, path);
}

function isBelow(place: string, path: string): boolean {
  return place === path || place.startsWith(withSeparator(path));
}

export function withSeparator(path: string): string {
  return path.endsWith(sep) ? path : path + sep;
}

export function identityOf({ dev, ino }: Pick<BigIntStats, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}

/** The identities of all files that these paths are or hold. */
export async function filesWithin(paths: readonly string[]): Promise<Set<string>> {
  const identities = new Set<string>();
  const note = async (file: string) => {
    const found = await stat(file, { bigint: true }).catch(() => undefined);
    if (found?.isFile()) identities.add(identityOf(found));
  };
  for (const path of paths) {
    await note(path);
    const options = { withFileTypes: true, recursive: true } as const;
    for (const entry of await readdir(path, options).catch(() => []))
      await note(join(entry.parentPath, entry.name));
  }
  return identities;
}

/** The real path, also of what does not exist yet. */
export function realPlace(path: string): string {
  const target = resolve(path);
  try {
    return realpathSync(target);
  } catch {
    return dirname(target) === target ? target : join(realPlace(dirname(target)), basename(target));
  }
}

export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
