// The files that an agent reads and writes through its client: those of its directory, wherever links and `..` lead.
//
//   - It gets nothing here that its own process does not: what the wall hides is closed, what it keeps read-only stays so.
//   - The directory is where it was when the process began: no link that is put in its place leads elsewhere.
//   - A write is whole or not at all.

import { randomUUID } from "node:crypto";
import { open, rename, stat, unlink } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import { explain, Guard } from "../../tools/host/guard.ts";
import { isWithin, realPlace } from "../../tools/host/places.ts";
import type { HarnessOptions } from "../../harness/port.ts";

const longestText = 64 * 1024 * 1024;

export class AgentFiles {
  readonly #dir: string;
  /** Where the directory really is. */
  readonly #root: string;
  readonly #guard: Guard;

  constructor({ dir, wall }: Pick<HarnessOptions, "dir" | "wall">) {
    this.#dir = dir;
    this.#root = realPlace(dir);
    this.#guard = new Guard({
      cwd: dir,
      protectedPaths: wall?.hidden?.() ?? [],
      ...(wall?.readOnly ? { readOnly: wall.readOnly } : {}),
    });
  }

  /** A text, or `limit` lines of it from line `line` (from 1). */
  async read(path: string, line?: number | null, limit?: number | null): Promise<string> {
    this.#refuseOutside(path);
    await using file = await this.#guard.openFile(path, this.#root);
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
    this.#refuseOutside(path);
    const { folder, name } = await this.#guard.openParent(path, this.#root);
    await using parent = folder;
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
    this.#refuseOutside(path);
    await using folder = await this.#guard.openFolder(path);
    if (!isWithin(folder.path, this.#root)) throw outside(path);
    return folder.path;
  }

  #refuseOutside(path: string): void {
    if (!isWithin(realPlace(this.#guard.resolve(path)), this.#root)) throw outside(path);
  }
}

function outside(path: string): Fault {
  return new Fault(
    "denied",
    `${path} does not lie in this agent's directory, and only what does can be reached.`,
  );
}
