// Imports the modules of one agent's folder. A file's content decides its version, so that an unchanged file costs
// nothing and a changed one is what runs next. (Each version stays in memory, about 6 KB.)

import { createHash } from "node:crypto";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { FolderFiles } from "./folder-files.ts";
import { packageProblem } from "./module-files.ts";
import { withoutPaths } from "./paths.ts";

const defaultLoadMs = 10_000;
const maxToolBytes = 4 * 1_024 * 1_024;

export type Loaded =
  | { readonly value: unknown; readonly problem?: undefined }
  /** Why it cannot be used, without an absolute path. */
  | { readonly problem: string };

export class AuthoredModules {
  readonly #dir: string;
  readonly #files: FolderFiles;
  readonly #loadMs: number;
  /** How often a version failed: it stays failed under its address, also after a file beside it was mended. */
  readonly #failures = new Map<string, number>();

  /** `dir` is a real path; what lies outside of it is not loaded. */
  constructor(dir: string, files: FolderFiles, loadMs = defaultLoadMs) {
    this.#dir = dir;
    this.#files = files;
    this.#loadMs = loadMs;
  }

  /** The default export of the file. */
  async load(path: string): Promise<Loaded> {
    const read = await this.#files.read(path, this.#dir, maxToolBytes);
    if (read === undefined) return { problem: "it cannot be loaded: it is not there any more" };
    if (read.problem !== undefined) return { problem: `it ${read.problem}` };
    const problem = read.isCut ? "it is larger than 4 MiB" : packageProblem(path);
    if (problem !== undefined) return { problem: `it cannot be loaded: ${problem}` };
    const digest = createHash("sha256").update(read.bytes).digest("hex").slice(0, 16);
    const version = `${path}?v=${digest}`;
    try {
      const failures = this.#failures.get(version) ?? 0;
      const query = version.slice(path.length) + (failures === 0 ? "" : `.${failures}`);
      const url = pathToFileURL(path).href + query;
      const module: unknown = await withDeadline(import(/* @vite-ignore */ url), this.#loadMs);
      return { value: (module as { default?: unknown }).default };
    } catch (error) {
      this.#failures.set(version, (this.#failures.get(version) ?? 0) + 1);
      return { problem: `it cannot be loaded: ${reasonOf(error, path, this.#dir)}` };
    }
  }
}

/** A module may wait at its top level, but not for ever. */
async function withDeadline(loading: Promise<unknown>, loadMs: number): Promise<unknown> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`it was not done loading after ${loadMs / 1_000} s`)),
    loadMs,
  );
  try {
    return await Promise.race([loading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: unknown, path: string, dir: string): string {
  if (!(error instanceof Error)) return withoutPaths(String(error), dir);
  const message = withoutPaths(error.message.replace(/\?v=[0-9a-f.]+/g, ""), dir);
  // A syntax error has its place only in its stack.
  const at = (error.stack ?? "").split(basename(path))[1];
  const line = /^[^\s:]*:(\d+)/.exec(at ?? "")?.[1];
  return line === undefined ? message : `${message} (line ${line})`;
}
