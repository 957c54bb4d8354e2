// An outbox's storage in a folder: one file an item, one a picture; readable by their owner only.
//
//   A file is written under another name, synced, and renamed: it is whole or not there.
//   Names in the making are of one write each, so that two programs never meet in one.

import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type OutboxItem, type OutboxStorage, readItem } from "../outbox/storage.ts";

export interface FileStorageOptions {
  /** Told after each step that changes the disk. */
  readonly onStep?: (step: string) => void;
}

export function fileStorage(folder: string, options: FileStorageOptions = {}): OutboxStorage {
  const items = join(folder, "items");
  const files = join(folder, "files");
  const done = options.onStep ?? (() => {});
  const make = async (): Promise<void> => {
    for (const path of [items, files]) await mkdir(path, { recursive: true, mode: 0o700 });
    done("mkdir");
  };
  let made: Promise<void> | undefined;
  const ready = (): Promise<void> =>
    (made ??= make().catch((error: unknown) => {
      // What stood in the way may be gone the next time.
      made = undefined;
      throw error;
    }));

  const write = async (into: string, name: string, bytes: Uint8Array): Promise<void> => {
    await ready();
    const making = join(into, `.${randomUUID()}.new`);
    const file = await open(making, "wx", 0o600);
    done("create");
    try {
      await file.writeFile(bytes);
      done("write");
      await file.sync();
      done("sync");
    } finally {
      await file.close();
    }
    await rename(making, join(into, name));
    done("rename");
    await syncFolder(into);
    done("sync folder");
  };

  const erase = async (from: string, name: string): Promise<void> => {
    await ready();
    try {
      await unlink(join(from, name));
      done("unlink");
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    await syncFolder(from);
    done("sync folder");
  };

  const readAll = async (from: string): Promise<string[]> => {
    await ready();
    return readdir(from);
  };

  return {
    load: async () => {
      const found: OutboxItem[] = [];
      const damaged: string[] = [];
      for (const name of (await readAll(items)).filter((it) => it.endsWith(".json"))) {
        const item = await readStored(join(items, name));
        if (item) found.push(item);
        else if (item === undefined) damaged.push(name);
      }
      return { items: found, damaged };
    },
    put: async (item) => write(items, nameOf(item), new TextEncoder().encode(JSON.stringify(item))),
    remove: async (item) => erase(items, nameOf(item)),
    putFile: async (name, bytes) => write(files, checked(name), bytes),
    getFile: async (name) => {
      await ready();
      try {
        return await readFile(join(files, checked(name)));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    removeFile: async (name) => erase(files, checked(name)),
    filesBefore: async (ms) => {
      const old: string[] = [];
      for (const into of [items, files]) {
        for (const name of await readAll(into)) {
          const isMaking = name.startsWith(".");
          if (!isMaking && into === items) continue;
          if (!(await isOlder(join(into, name), ms))) continue;
          if (isMaking) await erase(into, name);
          else old.push(name);
        }
      }
      return old;
    },
  };
}

/** Undefined for a file that cannot be read as an item, null for one that went meanwhile. */
async function readStored(path: string): Promise<OutboxItem | undefined | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    return readItem(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs < ms;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function nameOf({ order, id }: OutboxItem): string {
  return checked(`${String(order).padStart(10, "0")}-${id}.json`);
}

/** Names are made here and by the outbox; anything else would lead out of the folder. */
function checked(name: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)) return name;
  throw new Error(`not a name of an outbox's file: ${JSON.stringify(name)}`);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
