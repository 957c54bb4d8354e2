// Visits the files below a folder in a stable order, through the guard: links are not followed, closed places are passed
// by, and what git ignores (and `.git` and `node_modules`) is left out.

import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type IgnoreRules, isIgnored, parseIgnoreRules } from "../ignore-rules.ts";
import type { Folder, Guard } from "./guard.ts";

export interface Visited {
  /** Absolute. */
  readonly path: string;
  readonly isFolder: boolean;
  /** Undefined where the file cannot be read. */
  open(): Promise<FileHandle | undefined>;
}

const left = new Set([".git", "node_modules"]);
const maxRulesBytes = 256 * 1_024;

export async function* walk(guard: Guard, path: string): AsyncGenerator<Visited> {
  await using folder = await guard.openFolder(path);
  yield* visit(folder, await rulesAbove(guard, folder.path));
}

async function* visit(folder: Folder, above: readonly IgnoreRules[]): AsyncGenerator<Visited> {
  const entries = await folder.entries().catch(() => []);
  const own = entries.some((entry) => entry.name === ".gitignore") ? await rulesOf(folder) : [];
  const rules = [...above, ...own];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder.path, entry.name);
    const isFolder = entry.isDirectory();
    if (isFolder && left.has(entry.name)) continue;
    if (!isFolder && !entry.isFile()) continue;
    if (isIgnored(rules, path, isFolder)) continue;
    const open = () => folder.openFile(entry.name).catch(() => undefined);
    if (!isFolder) {
      yield { path, isFolder, open };
      continue;
    }
    const inner = await folder.openFolder(entry.name).catch(() => undefined);
    if (!inner) continue;
    await using held = inner;
    yield { path, isFolder, open: () => Promise.resolve(undefined) };
    yield* visit(held, rules);
  }
}

/** The rules of the folders above, up to the one that holds the repository. */
async function rulesAbove(guard: Guard, path: string): Promise<IgnoreRules[]> {
  const found: IgnoreRules[][] = [];
  for (let at = path; at !== dirname(at);) {
    await using here = await guard.openFolder(at).catch(() => undefined);
    const names = here ? (await here.entries()).map((entry) => entry.name) : [];
    if (at !== path && here) found.unshift(await rulesOf(here));
    if (names.includes(".git")) return found.flat();
    at = dirname(at);
  }
  return [];
}

async function rulesOf(folder: Folder): Promise<IgnoreRules[]> {
  const file = await folder.openFile(".gitignore").catch(() => undefined);
  if (!file) return [];
  await using held = file;
  const { buffer, bytesRead } = await held.read(Buffer.alloc(maxRulesBytes), 0, maxRulesBytes, 0);
  return [parseIgnoreRules(folder.path, buffer.toString("utf8", 0, bytesRead))];
}
