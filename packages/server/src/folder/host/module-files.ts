// Whether Node can be handed a module: it reads what it is given, and each package.json above it, to the end and while
// everything waits. A pipe in such a place would stop the host for ever.

import { type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const maxModuleBytes = 64 * 1_024 * 1_024;
const maxPackageBytes = 1_024 * 1_024;

/** Why the module at `path` must not be loaded; one that is not there is for Node to report. */
export function moduleProblem(path: string): string | undefined {
  return problemOf(path, maxModuleBytes);
}

/** Why a package.json beside or above `path` must not be read. */
export function packageProblem(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const problem = problemOf(join(folder, "package.json"), maxPackageBytes);
    if (problem !== undefined) return problem;
    if (folder === dirname(folder)) return undefined;
  }
}

function problemOf(path: string, maxBytes: number): string | undefined {
  const found = statOf(path);
  if (!found || found.isDirectory()) return undefined;
  if (!found.isFile()) return `${basename(path)} is not a regular file`;
  if (found.size <= maxBytes) return undefined;
  return `${basename(path)} is larger than ${maxBytes / (1_024 * 1_024)} MiB`;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // What cannot be looked at cannot be read either.
    return undefined;
  }
}
