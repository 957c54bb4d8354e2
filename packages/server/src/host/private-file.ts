// Files for their owner's eyes only, replaced whole: a reader sees the old text or the new one, never a part.

import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { toSystemRefusal } from "@lichen/runtime/node";

/** Replaces a file whole, with mode 0600. */
export function writePrivately(path: string, text: string): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch (error) {
    try {
      rmSync(draft, { force: true });
    } catch {
      // Where nothing can be written nothing can be removed either; why is told by the first error.
    }
    throw toSystemRefusal(error, `the file ${basename(path)} in the state directory`);
  }
}
