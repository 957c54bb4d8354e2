// The one door of the file tools to the disk. Nothing is read or written before the place it really is was checked.
//
// A protected path (the state, the credentials, the store) and all below it are refused under every name: through
// `..`, links, another case, `/proc`, a second hard link, after a rename. The check is on the opened file, not on its
// name, so that a link that is swapped in between leads nowhere: on Linux the kernel tells the place of an open
// descriptor, elsewhere the place is resolved again and must be the same file.

import { type BigIntStats, constants, type Dirent, statSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readlink, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { Fault } from "@lichen/wire";
import { filesWithin, identityOf, isWithin, realPlace, withSeparator } from "./places.ts";
import { ReadOnlyPaths } from "./read-only-paths.ts";

export interface GuardOptions {
  readonly cwd: string;
  readonly protectedPaths: readonly string[];
  /** What may be read and never changed, asked for at each change. */
  readonly readOnly?: () => readonly string[];
  /** What another guard of the same paths knows already. */
  readonly identities?: readonly string[];
}

/** A folder that was checked. Its files are reached through the open descriptor, whatever becomes of the name. */
export interface Folder extends AsyncDisposable {
  /** Where it really is. */
  readonly path: string;
  entries(): Promise<Dirent[]>;
  /** A path for one name in this folder, for calls that take paths. */
  at(name: string): string;
  /** A regular file, never through a link. */
  openFile(name: string): Promise<FileHandle>;
  openFolder(name: string): Promise<Folder>;
}

const linksRefused = constants.O_NOFOLLOW;
const reading = constants.O_RDONLY | constants.O_NONBLOCK;
const readingFolder = constants.O_RDONLY | constants.O_DIRECTORY;
const descriptors = process.platform === "linux" ? "/proc/self/fd" : undefined;

export class Guard {
  readonly #cwd: string;
  readonly #paths: readonly string[];
  readonly #readOnly: ReadOnlyPaths;
  /** `device:inode` of each protected path, also after it was moved. */
  readonly #identities = new Set<string>();
  /** Those of the files below them, listed when a file with several names is met; anew for each call. */
  #files: Promise<ReadonlySet<string>> | undefined;

  constructor({ cwd, protectedPaths, readOnly, identities = [] }: GuardOptions) {
    this.#cwd = cwd;
    this.#readOnly = new ReadOnlyPaths(readOnly);
    for (const identity of identities) this.#identities.add(identity);
    this.#paths = [...new Set(protectedPaths.flatMap((path) => [resolve(path), realPlace(path)]))];
    for (const path of this.#paths) {
      try {
        this.#identities.add(identityOf(statSync(path, { bigint: true })));
      } catch {
        // Not there yet, or out of this user's reach.
      }
    }
  }

  /** What a guard in another thread, which only reads, needs to be as strict. */
  options(): GuardOptions {
    return { cwd: this.#cwd, protectedPaths: this.#paths, identities: [...this.#identities] };
  }

  /** The absolute path that a model's path means. */
  resolve(path: string): string {
    if (path.includes("\0")) throw new Fault("invalid", "A path cannot contain a NUL character.");
    const home = path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
    return resolve(this.#cwd, home);
  }

  /** As a model should see it: relative where it lies in the working directory. */
  shown(path: string): string {
    if (path === this.#cwd) return ".";
    return path.startsWith(withSeparator(this.#cwd))
      ? path.slice(withSeparator(this.#cwd).length)
      : path;
  }

  /** Refuses to make, replace or change what is at a place; `whole`: or to take it away with all that is below it. */
  refuseChange(place: string, shown: string, whole = false): Promise<void> {
    return this.#readOnly.refuseChange(place, shown, whole);
  }

  async isFolder(path: string): Promise<boolean> {
    const target = this.resolve(path);
    this.#refuseName(target, path);
    return (await stat(target).catch(explain(path))).isDirectory();
  }

  /** A regular file, for reading; with `within` (a real path), one that really lies in that folder. */
  async openFile(path: string, within?: string): Promise<FileHandle> {
    this.#files = undefined;
    const target = this.resolve(path);
    this.#refuseName(target, path);
    const kind = await stat(target).catch(explain(path));
    if (!kind.isFile()) throw notAFile(path, kind.isDirectory());
    const handle = await open(target, reading).catch(explain(path));
    return closedOnFault(handle, () => this.#checkFile(handle, target, path, within));
  }

  async openFolder(path: string): Promise<Folder> {
    this.#files = undefined;
    const target = this.resolve(path);
    this.#refuseName(target, path);
    const handle = await open(target, readingFolder).catch(explain(path));
    return this.#folder(handle, target, path);
  }

  /**
   * The folder that a file is to be written in, made where it is missing, and the file's name there. Links in the path are
   * followed; with `within` (a real path), to what really lies in that folder.
   */
  async openParent(path: string, within?: string): Promise<{ folder: Folder; name: string }> {
    const target = this.resolve(path);
    this.#refuseName(target, path);
    await this.#readOnly.refuseChange(target, path);
    const place = await realpath(target).catch(() => target);
    const missing: string[] = [];
    let existing = dirname(place);
    while (existing !== dirname(existing) && !(await stat(existing).catch(() => undefined))) {
      missing.unshift(basename(existing));
      existing = dirname(existing);
    }
    const name = basename(place);
    let folder = await this.openFolder(existing);
    try {
      if (within !== undefined && !isWithin(folder.path, within)) throw leadsOut(path, within);
      await this.#readOnly.refuseChange(join(folder.path, ...missing, name), path);
      for (const below of missing) {
        await mkdir(folder.at(below)).catch((error: unknown) => {
          if (codeOf(error) !== "EEXIST") explain(path)(error);
        });
        const parent = folder;
        folder = await parent.openFolder(below);
        await parent[Symbol.asyncDispose]();
      }
      this.#refuseName(join(folder.path, name), path);
      await this.#readOnly.refuseChange(join(folder.path, name), path);
      const found = await stat(folder.at(name), { bigint: true }).catch(() => undefined);
      if (found) await this.#refuseIdentity(found, path);
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
    return { folder, name };
  }

  async #folder(handle: FileHandle, target: string, shown: string): Promise<Folder> {
    const path = await closedOnFault(handle, async () => {
      const place = await this.#place(handle, target, shown);
      await this.#refuseInside(place, await handle.stat({ bigint: true }), shown);
      return place;
    });
    const base = descriptors ? `${descriptors}/${handle.fd}` : path;
    const at = (name: string) => join(base, name);
    const child = (name: string) => join(path, name);
    return {
      path,
      at,
      entries: () => readdir(base, { withFileTypes: true }),
      openFile: async (name) => {
        const file = await open(at(name), reading | linksRefused).catch(explain(child(name)));
        return closedOnFault(file, async () => {
          const found = await file.stat({ bigint: true });
          if (!found.isFile()) throw notAFile(child(name), found.isDirectory());
          this.#refuseName(child(name), child(name));
          await this.#refuseIdentity(found, child(name));
          return file;
        });
      },
      openFolder: async (name) => {
        const flags = readingFolder | linksRefused;
        const inner = await open(at(name), flags).catch(explain(child(name)));
        return this.#folder(inner, child(name), child(name));
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  }

  async #checkFile(
    handle: FileHandle,
    target: string,
    shown: string,
    within: string | undefined,
  ): Promise<FileHandle> {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) throw notAFile(shown, found.isDirectory());
    const place = await this.#place(handle, target, shown);
    if (within !== undefined && !isWithin(place, within)) throw leadsOut(shown, within);
    await this.#refuseInside(place, found, shown);
    return handle;
  }

  /** Where an open file really is. */
  async #place(handle: FileHandle, target: string, shown: string): Promise<string> {
    if (descriptors) return readlink(`${descriptors}/${handle.fd}`);
    const place = await realpath(target).catch(explain(shown));
    const [named, opened] = await Promise.all([
      stat(place, { bigint: true }),
      handle.stat({ bigint: true }),
    ]);
    if (identityOf(named) !== identityOf(opened))
      throw new Fault("denied", `${shown} changed while it was being opened. Try again.`);
    return place;
  }

  /** Refuses a folder that is a protected one or lies in one, by name and by identity of every folder above it. */
  async #refuseInside(place: string, found: BigIntStats, shown: string): Promise<void> {
    this.#refuseName(place, shown);
    await this.#learnIdentities();
    await this.#refuseIdentity(found, shown);
    for (let above = dirname(place); ; above = dirname(above)) {
      const folder = await stat(above, { bigint: true }).catch(() => undefined);
      if (folder) await this.#refuseIdentity(folder, shown);
      if (above === dirname(above)) return;
    }
  }

  /** What was made since the guard was. */
  async #learnIdentities(): Promise<void> {
    for (const path of this.#paths) {
      const guarded = await stat(path, { bigint: true }).catch(() => undefined);
      if (guarded) this.#identities.add(identityOf(guarded));
    }
  }

  #refuseName(place: string, shown: string): void {
    if (/^\/proc\/(?:self|thread-self|\d+)(?:\/|$)/.test(place)) throw refusal(shown);
    if (this.#paths.some((path) => isWithin(place, path))) throw refusal(shown);
  }

  async #refuseIdentity(found: BigIntStats, shown: string): Promise<void> {
    const identity = identityOf(found);
    if (this.#identities.has(identity)) throw refusal(shown);
    if (!found.isFile() || found.nlink === 1n) return;
    this.#files ??= filesWithin(this.#paths);
    if ((await this.#files).has(identity)) throw refusal(shown);
  }
}

async function closedOnFault<T>(handle: FileHandle, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function refusal(path: string): Fault {
  return new Fault(
    "denied",
    `${path} belongs to the host (its state, credentials or a process's memory) and is closed to tools.`,
  );
}

function leadsOut(path: string, within: string): Fault {
  return new Fault("denied", `${path} leads out of ${within}.`);
}

function notAFile(path: string, isFolder: boolean): Fault {
  return new Fault(
    "invalid",
    isFolder ? `${path} is a folder; use ls to list it.` : `${path} is not a regular file.`,
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is not a folder, or a part of its path is not",
  EISDIR: "is a folder",
  EACCES: "may not be accessed by this user",
  EPERM: "may not be changed by this user",
  EROFS: "is on a read-only file system",
  ELOOP: "is a link, or a loop of links",
  ENOSPC: "does not fit: the disk is full",
  ENAMETOOLONG: "has a name that is too long",
};

/** Turns a failed file call into a refusal that names the path as it was asked for. */
export function explain(path: string): (error: unknown) => never {
  return (error) => {
    if (Fault.is(error)) throw error;
    const code = codeOf(error);
    throw new Fault(
      "invalid",
      `${path} ${(code && reasons[code]) ?? `failed (${code ?? "unknown reason"})`}.`,
    );
  };
}
