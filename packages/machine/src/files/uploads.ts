// Files that devices send to sessions, kept until a message has named them and two weeks after.
//
//   AD50 The name that a device gives decides nothing about where its file lies.
//   AD51 A file that is refused, or breaks off, leaves nothing.
//   AD58 A folder that is a link by now is somebody else's: nothing is written into it, and nothing deleted there.
//   AD52 A file is deleted its time after it came, by the machine's clock; where that time is 0, never.

import { constants, lstatSync, mkdirSync } from "node:fs";
import { type FileHandle, lstat, open, readdir, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Platform } from "@lichen/runtime";
import { toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";

/** The most that one file may hold: 50 MiB. */
export const longestFile = 52_428_800;
const usualKeepMs = 14 * 86_400_000;
const sweepMs = 3_600_000;
const mostNames = 100;
const longestName = 128;

/** The folder of what devices sent to a session, which is made where it is not there: its processes may read it. */
export function uploadsOf(stateDir: string, agent: string): string {
  const folder = join(stateDir, "uploads", agent);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const place of [folder, dirname(folder)])
    if (!lstatSync(place).isDirectory())
      throw new Fault(
        "unavailable",
        "The folder of files for this session was replaced by a link: take that away from the machine's state.",
      );
  return folder;
}

/** A name of safe characters. @internal Exported for its tests. */
export function safeName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9._-]+/g, "_").replace(/^[._]+|[._]+$/g, "");
  if (safe === "") return "file";
  if (safe.length <= longestName) return safe;
  const ending = /\.[a-zA-Z0-9]{1,16}$/.exec(safe)?.[0] ?? "";
  return safe.slice(0, longestName - ending.length) + ending;
}

export interface UploadsOptions {
  readonly stateDir: string;
  readonly platform: Pick<Platform, "now" | "after" | "report">;
  /** Whether an agent is there no more. */
  readonly isGone: (agent: string) => boolean;
  /** How long a file is kept; 0 for ever. */
  readonly keepMs?: number;
}

export class Uploads {
  readonly #options: UploadsOptions;
  readonly #keepMs: number;
  #cancel: (() => void) | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#keepMs = options.keepMs ?? usualKeepMs;
  }

  /** Begins to delete what is old, now and then each hour. */
  start(): void {
    if (this.#keepMs === 0 || this.#isClosed) return;
    this.#sweeping = this.sweep()
      .catch((error: unknown) => this.#options.platform.report(error))
      .then(() => {
        if (!this.#isClosed)
          this.#cancel = this.#options.platform.after(sweepMs, () => this.start());
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  /** Keeps a file for the agent; answers its path. `invalid` where it is empty, `too_large` above 50 MiB. */
  async keep(
    agent: string,
    { name, bytes }: { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> },
  ): Promise<string> {
    const { stateDir, platform } = this.#options;
    try {
      const folder = uploadsOf(stateDir, agent);
      const now = platform.now();
      const { path, file } = await created(folder, stampOf(now), safeName(name));
      try {
        await fill(file, bytes);
        await file.utimes(now / 1000, now / 1000);
        await file.close();
      } catch (error) {
        await file.close().catch(() => {});
        await unlink(path).catch(() => {});
        throw error;
      }
      return path;
    } catch (error) {
      throw Fault.is(error) ? error : toSystemRefusal(error, "the file that was sent");
    }
  }

  /** Deletes what is older than it may be. */
  async sweep(): Promise<void> {
    const { stateDir, platform, isGone } = this.#options;
    if (this.#keepMs === 0) return;
    const root = join(stateDir, "uploads");
    for (const agent of await namesIn(root)) {
      const folder = join(root, agent);
      let left = 0;
      for (const name of await namesIn(folder)) {
        const path = join(folder, name);
        const stat = await lstat(path).catch(() => undefined);
        if (!stat?.isFile() || platform.now() - stat.mtimeMs < this.#keepMs) left++;
        else await unlink(path).catch((error: unknown) => platform.report(error));
      }
      // Processes that run have their folder in view: it is made anew only for those that begin later.
      if (left === 0 && isGone(agent)) await rmdir(folder).catch(() => {});
    }
  }
}

async function created(
  folder: string,
  stamp: string,
  safe: string,
): Promise<{ readonly path: string; readonly file: FileHandle }> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  for (let number = 0; number < mostNames; number++) {
    const path = join(folder, `${stamp}-${number === 0 ? "" : `${number}-`}${safe}`);
    try {
      return { path, file: await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600) };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
  throw new Fault("conflict", "name: too many files of this name came at once: send it again.", {
    retryable: true,
  });
}

async function fill(file: FileHandle, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > longestFile) throw tooLarge();
    for (let at = 0; at < piece.length;)
      at += (await file.write(piece, at, piece.length - at)).bytesWritten;
  }
  if (length === 0) throw new Fault("invalid", "body: the file is empty.");
}

export function tooLarge(): Fault {
  return new Fault("too_large", "The file is larger than 50 MiB, the most that is kept.");
}

/** Nothing where it is no folder itself. */
async function namesIn(folder: string): Promise<string[]> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true ? readdir(folder).catch(() => []) : [];
}

/** YYYYMMDD-HHMMSS on this machine's clock. */
function stampOf(ms: number): string {
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`;
  return `${day}-${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`;
}
