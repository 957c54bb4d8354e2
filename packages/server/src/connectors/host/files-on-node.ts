// A folder of files on Node: whatever a path says, what is opened lies in the folder and is none of the host's own.
//
//   Changes take turns where they look and then act: none of two that are made at once is lost unsaid.
//   Each part of a path is opened from the folder above it, so that nothing that is swapped meanwhile leads elsewhere. A
//   link is followed where it leads inside, and refused where it leads out.

import { randomUUID } from "node:crypto";
import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { link, lstat, mkdir, open, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { OperationError } from "@lichen/capability";
import type { FilePart, FileStat, FileStore } from "@lichen/capability/connectors";
import { Guard } from "@lichen/engine/node";
import { Fault } from "@lichen/wire";
import { isWithin } from "../../folder/host/paths.ts";

type Folder = Awaited<ReturnType<Guard["openFolder"]>>;

const mostEntries = 20_000;

export interface OpenFilesOptions {
  /** The host's own places: closed. */
  readonly protectedPaths: readonly string[];
  /** What may be read and never changed. */
  readonly readOnly: () => readonly string[];
}

/** Throws an `OperationError` `unavailable` where there is no such folder. */
export function openFiles(root: string, options: OpenFilesOptions): FileStore {
  let place: string;
  try {
    place = realpathSync(root);
    if (!statSync(place).isDirectory()) throw new Error("no folder");
  } catch (error) {
    throw new OperationError(
      "unavailable",
      "The folder of these files is not there, or may not be read: make it, or name another one in the connection.",
      { cause: error },
    );
  }
  return new NodeFiles(place, new Guard({ cwd: place, ...options }));
}

class NodeFiles implements FileStore {
  readonly #root: string;
  readonly #guard: Guard;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(root: string, guard: Guard) {
    this.#root = root;
    this.#guard = guard;
  }

  list(path: string) {
    return this.#said(path, async () => {
      await using folder = await this.#folder(path);
      const entries = await folder.entries();
      if (entries.length > mostEntries)
        throw new OperationError(
          "too_large",
          `${path || "The folder"} holds more than ${mostEntries} names.`,
        );
      return entries.map((entry) => ({
        name: entry.name,
        kind: entry.isDirectory()
          ? ("folder" as const)
          : entry.isFile()
            ? ("file" as const)
            : ("other" as const),
      }));
    });
  }

  stat(path: string) {
    return this.#said(path, async () => {
      if (path === "") return statOf(await lstat(this.#root, { bigint: true }));
      const { folder, name } = await this.#parent(path, false);
      await using parent = folder;
      return statOf(await lstat(parent.at(name), { bigint: true }));
    });
  }

  read(path: string, offset: number, bytes: number): Promise<FilePart> {
    return this.#said(path, async () => {
      const { folder, name } = await this.#parent(path, false);
      await using parent = folder;
      await using file = await this.#openFile(parent, name);
      const stat = statOf(await file.stat({ bigint: true }));
      const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, stat.size - offset)));
      let length = 0;
      while (length < buffer.length) {
        const { bytesRead } = await file.read(
          buffer,
          length,
          buffer.length - length,
          offset + length,
        );
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return { ...stat, bytes: buffer.subarray(0, length) };
    });
  }

  write(path: string, content: Uint8Array, how: { create?: boolean; version?: string }) {
    return this.#said(path, async () => {
      const { folder, name } = await this.#parent(path, true);
      await using parent = folder;
      await this.#guard.refuseChange(join(parent.path, name), path);
      const before = await this.#standing(parent, name);
      if (before && how.create)
        throw new OperationError(
          "conflict",
          `${path} is there already: leave create out to replace it.`,
        );
      const temporary = `.${randomUUID()}.tmp`;
      try {
        const mode = before ? Number(before.mode) & 0o777 : 0o666;
        await using file = await open(parent.at(temporary), "wx", mode);
        await file.writeFile(content);
        if (before) await file.chmod(mode);
        await file.sync();
        await this.#inTurn(async () => {
          const now = await this.#standing(parent, name);
          if (how.version !== undefined && (!now || statOf(now).version !== how.version))
            throw new OperationError("conflict", `${path} changed meanwhile: read it again.`);
          // A link to the new file takes the name only where nothing has it.
          if (how.create) await link(parent.at(temporary), parent.at(name));
          else await rename(parent.at(temporary), parent.at(name));
        });
        return { ...statOf(await file.stat({ bigint: true })), isNew: before === undefined };
      } finally {
        await unlink(parent.at(temporary)).catch(() => undefined);
      }
    });
  }

  makeFolder(path: string): Promise<void> {
    return this.#said(path, async () => {
      const { folder, name } = await this.#parent(path, true);
      await using parent = folder;
      await using _made = await this.#below(parent, name, true);
    });
  }

  move(from: string, to: string): Promise<void> {
    return this.#said(from, async () => {
      const source = await this.#parent(from, false);
      await using old = source.folder;
      const found = await lstat(old.at(source.name), { bigint: true });
      await this.#guard.refuseChange(join(old.path, source.name), from, true);
      // Neither a file nor a folder of the host's own is moved.
      if (found.isDirectory()) await (await old.openFolder(source.name))[Symbol.asyncDispose]();
      else if (found.isFile()) await (await old.openFile(source.name)).close();
      const target = await this.#parent(to, true);
      await using next = target.folder;
      await this.#guard.refuseChange(join(next.path, target.name), to);
      await this.#inTurn(async () => {
        if (await exists(next.at(target.name)))
          throw new OperationError("conflict", `${to} is there already: move or remove it first.`);
        await rename(old.at(source.name), next.at(target.name));
      });
    });
  }

  remove(path: string): Promise<void> {
    return this.#said(path, async () => {
      const { folder, name } = await this.#parent(path, false);
      await using parent = folder;
      const found = await lstat(parent.at(name));
      await this.#guard.refuseChange(join(parent.path, name), path, true);
      if (found.isDirectory()) {
        await (await parent.openFolder(name))[Symbol.asyncDispose]();
        await rmdir(parent.at(name));
        return;
      }
      if (found.isFile()) await (await parent.openFile(name)).close();
      await unlink(parent.at(name));
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** What has the name now; a file of the host's own is refused. */
  async #standing(parent: Folder, name: string): Promise<BigIntStats | undefined> {
    const found = await lstat(parent.at(name), { bigint: true }).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (found?.isDirectory())
      throw new OperationError("conflict", `${name} is a folder: name a file.`);
    if (found?.isFile()) await (await parent.openFile(name)).close();
    return found;
  }

  async #openFile(parent: Folder, name: string) {
    const found = await lstat(parent.at(name));
    if (!found.isSymbolicLink()) return parent.openFile(name);
    return this.#guard.openFile(join(parent.path, name), this.#root);
  }

  async #parent(path: string, isMade: boolean): Promise<{ folder: Folder; name: string }> {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    return { folder: await this.#folder(parts.join("/"), isMade), name };
  }

  async #folder(path: string, isMade = false): Promise<Folder> {
    let folder = await this.#guard.openFolder(this.#root);
    for (const part of path === "" ? [] : path.split("/")) {
      const above = folder;
      try {
        folder = await this.#below(above, part, isMade);
      } finally {
        await above[Symbol.asyncDispose]();
      }
    }
    return folder;
  }

  async #below(above: Folder, name: string, isMade: boolean): Promise<Folder> {
    if (isMade && !(await exists(above.at(name)))) {
      await this.#guard.refuseChange(join(above.path, name), name);
      await mkdir(above.at(name)).catch((error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
      });
    }
    const found = await lstat(above.at(name));
    if (!found.isSymbolicLink()) return above.openFolder(name);
    const folder = await this.#guard.openFolder(join(above.path, name));
    if (isWithin(folder.path, this.#root)) return folder;
    await folder[Symbol.asyncDispose]();
    throw new OperationError("denied", `${name} is a link that leads out of the folder.`);
  }

  /** What fails is said of the path that was asked for, without where the folder is. */
  async #said<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OperationError) throw error;
      const shown = path === "" ? "The folder" : path.slice(0, 200);
      if (Fault.is(error))
        throw new OperationError(
          error.code === "denied" ? "denied" : "invalid_input",
          error.message.replaceAll(`${this.#root}/`, "").replaceAll(this.#root, "the folder"),
        );
      const [code, words] = reasons[codeOf(error) ?? ""] ?? ["unavailable", "could not be reached"];
      throw new OperationError(code, `${shown} ${words}.`, { cause: error });
    }
  }
}

const reasons: Readonly<Record<string, readonly [string, string]>> = {
  ENOENT: ["not_found", "is not there"],
  ENOTDIR: ["invalid_input", "has a part that is no folder"],
  EEXIST: ["conflict", "is there already"],
  ENOTEMPTY: ["conflict", "is a folder that is not empty"],
  EISDIR: ["invalid_input", "is a folder"],
  ELOOP: ["denied", "is a link, or a loop of links"],
  EACCES: ["denied", "may not be accessed by the host's user"],
  EPERM: ["denied", "may not be changed by the host's user"],
  EROFS: ["denied", "is on a file system that cannot be written"],
  ENOSPC: ["unavailable", "does not fit: the disk is full"],
  ENAMETOOLONG: ["invalid_input", "has a name that is too long"],
  EXDEV: ["invalid_input", "is on another file system than where it is to go"],
};

function statOf(found: BigIntStats): FileStat {
  const kind = found.isDirectory() ? "folder" : found.isFile() ? "file" : "other";
  return {
    kind,
    size: Number(found.size),
    changedAt: Number(found.mtimeMs),
    version: `${found.ino}.${found.mtimeNs}.${found.size}`,
  };
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    },
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
