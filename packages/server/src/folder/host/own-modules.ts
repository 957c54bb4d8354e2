// Lends an agent's folder the host's own `lichen` and `zod`, so that a folder anywhere on the disk needs no
// node_modules. Nobody else's imports are touched. What the folder's own imports find is noted.
//
//   `lichen` is always the host's: a second copy would be another program. `zod` is the folder's own where it has one inside it.

import { existsSync, readFileSync } from "node:fs";
import {
  registerHooks,
  type ResolveFnOutput,
  type ResolveHookContext,
  type ResolveHookSync,
} from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { standsForNothing } from "@lichen/engine/node";
import type { LoadedCode } from "./loaded-code.ts";

/** Serves imports from below `dir` (a real path) until the answer is called. */
export function lendOwnModules(dir: string, loaded: LoadedCode): () => void {
  const below = pathToFileURL(join(dir, "/")).href;
  const host = pathToFileURL(join(packageRoot(), "package.json")).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => asModule(below, resolve(specifier, context, next)),
  });
  return () => hooks.deregister();

  function resolve(
    specifier: string,
    context: ResolveHookContext,
    next: Parameters<ResolveHookSync>[2],
  ): ResolveFnOutput {
    const { parentURL } = context;
    const find = (from?: string) =>
      next(specifier, from === undefined ? context : { ...context, parentURL: from });
    if (parentURL === undefined || !loaded.owns(parentURL))
      return specifier.startsWith(below) ? loaded.note(specifier, below, find) : find();
    const isLent = /^(lichen|zod)(\/|$)/.test(specifier) && parentURL.startsWith(below);
    if (!isLent) return loaded.note(specifier, parentURL, find);
    const fromHost = () => next(specifier, { ...context, parentURL: host });
    if (specifier.startsWith("lichen") || !hasOwnZod(parentURL)) return fromHost();
    try {
      const own = loaded.note(specifier, parentURL, find);
      return own.url.startsWith(below) ? own : fromHost();
    } catch {
      return fromHost();
    }
  }

  /** Nobody else's is even looked at. */
  function hasOwnZod(parent: string): boolean {
    for (let folder = dirname(fileURLToPath(parent)); ; folder = dirname(folder)) {
      const zod = join(folder, "node_modules", "zod");
      if (existsSync(zod) && !standsForNothing(zod)) return true;
      if (folder === dir || folder === dirname(folder)) return false;
    }
  }
}

// A folder without a package.json says nothing of its files' format; Node would parse each twice and warn.
function asModule(below: string, found: ResolveFnOutput): ResolveFnOutput {
  if (found.format || !found.url.startsWith(below)) return found;
  const path = new URL(found.url).pathname;
  if (path.endsWith(".ts")) return { ...found, format: "module-typescript" };
  return path.endsWith(".js") ? { ...found, format: "module" } : found;
}

/** The directory of the package `lichen`, in a clone and installed alike. */
export function packageRoot(): string {
  for (let dir = import.meta.dirname; ; dir = dirname(dir)) {
    const file = join(dir, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "lichen") return dir;
    if (dir === dirname(dir))
      throw new Error("The package lichen is not around the module that looks for it.");
  }
}
