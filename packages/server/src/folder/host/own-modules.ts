// Lends an agent's folder the host's own `lichen` and `zod`, so that a folder anywhere on the disk needs no
// node_modules. Nobody else's imports are touched.
//
//   `lichen` is always the host's: a second copy would be another program. `zod` is the folder's own where it has one.

import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Serves imports from below `dir` (a real path) until the answer is called. */
export function lendOwnModules(dir: string): () => void {
  const below = pathToFileURL(join(dir, "/")).href;
  const host = pathToFileURL(join(packageRoot(), "package.json")).href;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const isLent = /^(lichen|zod)(\/|$)/.test(specifier);
      if (!isLent || !context.parentURL?.startsWith(below)) return next(specifier, context);
      const fromHost = () => next(specifier, { ...context, parentURL: host });
      if (specifier.startsWith("lichen")) return fromHost();
      try {
        return next(specifier, context);
      } catch {
        return fromHost();
      }
    },
  });
  return () => hooks.deregister();
}

/** The directory of the package `lichen`, in a clone and installed alike. */
function packageRoot(): string {
  for (let dir = import.meta.dirname; ; dir = dirname(dir)) {
    const file = join(dir, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "lichen") return dir;
    if (dir === dirname(dir))
      throw new Error("The package lichen is not around the module that looks for it.");
  }
}
