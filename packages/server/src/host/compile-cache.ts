// Where Node keeps compiled code for this process, and where the `lichen` command lets it. What lies there runs at the
// next start as it is, so no agent may reach it.

import { getCompileCacheDir } from "node:module";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** Absolute paths of folders, there or not. */
export function compileCaches(): string[] {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const named = process.env["NODE_COMPILE_CACHE"];
  // Node's answer is a folder for its own version, beside those of others.
  const inUse = getCompileCacheDir();
  return [
    ...new Set([
      resolve(cache, "lichen"),
      ...(named ? [resolve(named)] : []),
      ...(inUse === undefined ? [] : [dirname(inUse)]),
    ]),
  ];
}
