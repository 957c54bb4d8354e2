// A finished file under its own name: it never takes the place of one that is there.

import { existsSync, linkSync, renameSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { Fault } from "@lichen/wire";
import { toSystemRefusal } from "../folder.ts";

/** What file systems without hard links say. */
const linkless = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Gives `draft` the name `to`. `conflict` where something is called that by now: both stay as they are. */
export function putInPlace(draft: string, to: string): void {
  try {
    // Unlike a rename, a link is refused where the name is taken.
    linkSync(draft, to);
    unlinkSync(draft);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "EEXIST" || (linkless.has(code) && existsSync(to)))
      throw new Fault(
        "conflict",
        `Somebody made a ${basename(to)} in that folder meanwhile; it was left as it is: copy to another, new folder.`,
        { cause: error },
      );
    if (!linkless.has(code)) throw toSystemRefusal(error, `the store ${basename(to)}`);
    renameSync(draft, to);
  }
}
