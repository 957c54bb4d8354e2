// Files for their owner's eyes only, replaced whole: a reader sees the old text or the new one, never a part.

import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";

/** Replaces a file whole, with mode 0600. */
export function writePrivately(path: string, text: string): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
