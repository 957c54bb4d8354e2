// Directories that are made for sessions: they stay with the first session in them, and go with the last request that
// wanted them and was refused.

import { realpathSync } from "node:fs";
import { liesIn } from "@lichen/server/node";
import { makeDirectory, removeIfEmpty } from "./session-name.ts";

export class MadeDirectories {
  /** Of requests under way. */
  readonly #wanted = new Set<{ readonly dir: string }>();
  /** Real paths of what was made for requests of which none has come to a session yet. */
  readonly #made = new Set<string>();

  /** Does `work` in a directory that is made where it is missing, and taken back where `work` fails. */
  async during<T>(dir: string, work: () => Promise<T>): Promise<T> {
    const wish = { dir };
    this.#wanted.add(wish);
    try {
      for (const folder of makeDirectory(dir)) this.#made.add(realpathSync(folder));
      const done = await work();
      for (const folder of this.#made) if (liesIn(dir, folder)) this.#made.delete(folder);
      return done;
    } finally {
      this.#wanted.delete(wish);
      this.#takeBack();
    }
  }

  #takeBack(): void {
    const deepestFirst = [...this.#made].toSorted((a, b) => b.length - a.length);
    for (const folder of deepestFirst) {
      if ([...this.#wanted].some(({ dir }) => liesIn(dir, folder))) continue;
      this.#made.delete(folder);
      removeIfEmpty(folder);
    }
  }
}
