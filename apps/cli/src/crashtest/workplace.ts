// Where a crashtest works: copies of an agent's folder and of its state, for its user's eyes only, gone at the end.
//
// The originals are read and nothing else. Every crash point gets a copy of its own, under the folder's own name.

import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, isAbsolute, join, relative } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { standsForNothing } from "@lichen/engine/node";
import { Fault } from "@lichen/wire";

export interface Copy {
  readonly dir: string;
  readonly stateDir: string;
  readonly witness: string;
}

export class Workplace {
  readonly root: string;
  readonly #name: string;

  private constructor(root: string, name: string) {
    this.root = root;
    this.#name = name;
  }

  /** `stateDir` is where the agent's conversations are, if it had any. */
  static async open(dir: string, stateDir: string | undefined): Promise<Workplace> {
    const from = await realpath(dir);
    const temporary = await realpath(tmpdir());
    if (isWithin(temporary, from))
      throw new Fault(
        "invalid",
        `The copies would lie in the folder that they are made of: the system's temporary directory is ${temporary}. Set TMPDIR to a place outside of the folder.`,
      );
    // Made with mode 0700.
    const root = await mkdtemp(join(temporary, "lichen-crashtest-"));
    const place = new Workplace(root, basename(from) || "agent");
    try {
      const original = place.#copy("original");
      await copyFolder(from, original.dir);
      await mkdir(original.stateDir, { mode: 0o700 });
      if (stateDir !== undefined) await copyStore(stateDir, original.stateDir);
      return place;
    } catch (error) {
      await place.remove();
      throw error;
    }
  }

  /** The agent as it is now; what every other copy is made from. */
  get original(): Copy {
    return this.#copy("original");
  }

  async copy(name: string): Promise<Copy> {
    const { original } = this;
    const copy = this.#copy(name);
    await copyFolder(original.dir, copy.dir);
    await mkdir(copy.stateDir, { mode: 0o700 });
    const store = join(original.stateDir, "host.db");
    if (existsSync(store)) await copyFile(store, join(copy.stateDir, "host.db"));
    return copy;
  }

  async discard(name: string): Promise<void> {
    await rm(join(this.root, name), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  #copy(name: string): Copy {
    const place = join(this.root, name);
    return {
      dir: join(place, "folder", this.#name),
      stateDir: join(place, "state"),
      witness: join(place, "witness.jsonl"),
    };
  }
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && !/^\.\.(\/|$)/.test(way);
}

/** What was installed is linked to and not copied: it is large, and nobody's work. */
async function copyFolder(from: string, to: string): Promise<void> {
  const installed: [string, string][] = [];
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    filter: (source, target) => {
      if (standsForNothing(source)) return false;
      if (basename(source) !== "node_modules") return true;
      installed.push([source, target]);
      return false;
    },
  });
  for (const [source, target] of installed) await symlink(await realpath(source), target);
}

/**
 * Where a host has it open, or was killed, SQLite's own backup copies one state of it. A store that was closed is one
 * plain file, and SQLite would leave files beside it.
 */
async function copyStore(from: string, to: string): Promise<void> {
  const path = join(from, "host.db");
  if (!existsSync(path)) return;
  const isClosed = () => !existsSync(`${path}-wal`);
  if (isClosed()) {
    await copyFile(path, join(to, "host.db"));
    // No host has opened it meanwhile.
    if (isClosed()) return;
    await rm(join(to, "host.db"));
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    await backup(database, join(to, "host.db"));
  } finally {
    database.close();
  }
}
