// The files that an agent reads and writes through its client: those of its directory, wherever links and `..` lead.
//
// A write is whole or not at all.

import { randomUUID } from "node:crypto";
import { open, rename, stat, unlink } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import { explain, Guard } from "../../tools/host/guard.ts";
import { isWithin, realPlace } from "../../tools/host/places.ts";

const longestText = 64 * 1024 * 1024;

export class AgentFiles {
  readonly #dir: string;
  readonly #guard: Guard;

  constructor(dir: string) {
    this.#dir = dir;
    this.#guard = new Guard({ cwd: dir, protectedPaths: [] });
  }

  /** A text, or `limit` lines of it from line `line` (from 1). */
  async read(path: string, line?: number | null, limit?: number | null): Promise<string> {
    const root = this.#refuseOutside(path);
    await using file = await this.#guard.openFile(path, root);
    const { size } = await file.stat();
    if (size > longestText)
      throw new Fault(
        "too_large",
        `${path} has ${size} bytes; at most ${longestText} can be read at once.`,
      );
    const text = await file.readFile("utf8");
    if (line === undefined && limit === undefined) return text;
    const from = Math.max((line ?? 1) - 1, 0);
    const lines = text.split("\n");
    return lines.slice(from, from + (limit ?? lines.length)).join("\n");
  }

  /** Makes a file, with its folders, or replaces all of it. */
  async write(path: string, content: string): Promise<void> {
    const root = this.#refuseOutside(path);
    const { folder, name } = await this.#guard.openParent(path);
    await using parent = folder;
    if (!isWithin(parent.path, root)) throw outside(path);
    const target = parent.at(name);
    const found = await stat(target).catch(() => undefined);
    if (found && !found.isFile()) throw new Fault("invalid", `${path} is not a regular file.`);
    const temporary = parent.at(`.${name.slice(0, 100)}.${randomUUID()}.tmp`);
    try {
      const file = await open(temporary, "wx", 0o666);
      try {
        await file.writeFile(content);
        if (found) await file.chmod(found.mode & 0o7777);
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(temporary, target);
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      explain(path)(error);
    }
  }

  /** A folder of the directory, as it really is; the directory itself where none is named. */
  async folder(path: string | undefined): Promise<string> {
    if (path === undefined) return this.#dir;
    const root = this.#refuseOutside(path);
    await using folder = await this.#guard.openFolder(path);
    if (!isWithin(folder.path, root)) throw outside(path);
    return folder.path;
  }

  /** The real directory, where the path leads to something below it. */
  #refuseOutside(path: string): string {
    const root = realPlace(this.#dir);
    if (!isWithin(realPlace(this.#guard.resolve(path)), root)) throw outside(path);
    return root;
  }
}

function outside(path: string): Fault {
  return new Fault(
    "denied",
    `${path} does not lie in this agent's directory, and only what does can be reached.`,
  );
}
