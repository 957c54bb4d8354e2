// Imports the modules of one agent's folder. A file's content decides its version, so that an unchanged file costs
// nothing and a changed one is what runs next. (Each version stays in memory, about 6 KB.)
//
//   What is not loaded in time is waited for once: it runs on, and counts when it is there.

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
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
  /** The versions that were waited for in vain and are still loading, with how their file stood. */
  readonly #late = new Map<string, { readonly stamp: number | undefined }>();
  #hasArrived = false;

  /** `dir` is a real path; what lies outside of it is not loaded. */
  constructor(dir: string, files: FolderFiles, loadMs = defaultLoadMs) {
    this.#dir = dir;
    this.#files = files;
    this.#loadMs = loadMs;
  }

  /** Whether one that was late is there by now, since this was asked last. */
  takeArrived(): boolean {
    const hasArrived = this.#hasArrived;
    this.#hasArrived = false;
    return hasArrived;
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
    const stamp = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    const late = this.#late.get(version);
    if (late !== undefined && late.stamp === stamp) return this.#tooLate();
    // It was touched: what it waits for may be mended.
    if (late !== undefined) this.#failed(version);
    try {
      const failures = this.#failures.get(version) ?? 0;
      const query = version.slice(path.length) + (failures === 0 ? "" : `.${failures}`);
      const url = pathToFileURL(path).href + query;
      const loading: Promise<{ default?: unknown }> = import(/* @vite-ignore */ url);
      const module = await inTime(loading, this.#loadMs);
      if (module !== undefined) return { value: module.default };
      this.#wait(version, { stamp }, loading);
      return this.#tooLate();
    } catch (error) {
      this.#failed(version);
      return { problem: `it cannot be loaded: ${reasonOf(error, path, this.#dir)}` };
    }
  }

  #wait(version: string, late: { stamp: number | undefined }, loading: Promise<unknown>): void {
    this.#late.set(version, late);
    const arrive = () => {
      if (this.#late.get(version) !== late) return;
      this.#late.delete(version);
      this.#hasArrived = true;
    };
    void loading.then(arrive, arrive);
  }

  #failed(version: string): void {
    this.#late.delete(version);
    this.#failures.set(version, (this.#failures.get(version) ?? 0) + 1);
  }

  #tooLate(): Loaded {
    const waited = `it was not done loading after ${this.#loadMs / 1_000} s`;
    return { problem: `it cannot be loaded: ${waited}` };
  }
}

/** A module may wait at its top level, but not for ever. Undefined where it is not done in time. */
async function inTime<T>(loading: Promise<T>, loadMs: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), loadMs);
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
