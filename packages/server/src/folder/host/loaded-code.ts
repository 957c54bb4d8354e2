// Which files the host's imports for one agent's folder depend on: what was loaded, by whatever way it was found, and
// what would be found instead if somebody made it. Tools must change neither (`readOnlyPlaces`).
//
//   A package comes from a `node_modules` on the way up, and nothing else gives a bare name a meaning: a package.json
//   above the agent's folder, which its tools may edit, does not say what the host runs.

import { existsSync, realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { standsForNothing } from "@lichen/engine/node";
import { moduleProblem, packageProblem } from "./module-files.ts";
import { isWithin } from "./paths.ts";

export class LoadedCode {
  readonly #dir: string;
  readonly #paths = new Set<string>();
  readonly #packages = new Set<string>();

  /** `dir` is a real path. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Absolute paths of files and of packages' folders; some do not exist. */
  get paths(): readonly string[] {
    return [...this.#paths];
  }

  /** Whether a module is the agent's own code or something that it has loaded. */
  owns(url: string | undefined): boolean {
    const path = pathOf(url);
    return path !== undefined && (isWithin(path, this.#dir) || this.#paths.has(path));
  }

  /** Finds a module and notes what decided it. `find` answers the module's URL, as seen from another file where it is given one. */
  note<T extends { readonly url: string }>(
    specifier: string,
    parent: string,
    find: (from?: string) => T,
  ): T {
    if (isBuiltin(specifier)) return find();
    let from: string | undefined;
    const isPath = /^(\.{0,2}\/|file:)/.test(specifier);
    refuse(packageProblem(pathOf(parent)));
    if (isPath) {
      const named = pathOf(URL.parse(specifier, parent)?.href);
      this.#add(named);
      refuse(packageProblem(named));
    } else if (!specifier.startsWith("#")) from = this.#notePackage(specifier, parent);
    const found = find(from);
    const path = pathOf(found.url);
    if (path === undefined) return found;
    if (!isPath && !this.#isKnown(path))
      throw new Error(
        `"${specifier}" is not a package in a node_modules of the agent's folder or above it, so it is not loaded`,
      );
    this.#add(path);
    refuse(moduleProblem(path));
    return found;
  }

  /**
   * Every place that comes before the one where the package is, and that one. Answers from where to look for it, where
   * a placeholder comes before: Node would take that for the package.
   */
  #notePackage(specifier: string, parent: string): string | undefined {
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
    const from = pathOf(parent);
    if (name === undefined || from === undefined) return undefined;
    let isHindered = false;
    for (let folder = dirname(from); ; folder = dirname(folder)) {
      if (basename(folder) !== "node_modules") {
        const place = join(folder, "node_modules", name);
        this.#add(place);
        if (standsForNothing(place)) isHindered = true;
        else if (existsSync(place)) {
          refuse(packageProblem(join(place, "package.json")));
          this.#packages.add(realpathSync(place));
          return isHindered ? pathToFileURL(join(folder, "from-here.js")).href : undefined;
        }
      }
      if (folder === dirname(folder)) return undefined;
    }
  }

  #isKnown(path: string): boolean {
    if (isWithin(path, this.#dir)) return true;
    for (const folder of this.#packages) if (isWithin(path, folder)) return true;
    return false;
  }

  #add(path: string | undefined): void {
    if (path !== undefined) this.#paths.add(path);
  }
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new Error(problem);
}

function pathOf(url: string | undefined): string | undefined {
  if (url?.startsWith("file:") !== true) return undefined;
  const bare = new URL(url);
  bare.search = "";
  bare.hash = "";
  return fileURLToPath(bare.href);
}
