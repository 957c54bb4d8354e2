// What a folder holds, as one digest: names, kinds, permissions to execute, and contents; no times.

import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

export async function folderPrint(dir: string): Promise<string> {
  const hash = createHash("sha256");
  const names = (await readdir(dir, { recursive: true })).toSorted();
  for (const name of names) {
    const path = join(dir, name);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined) continue;
    hash.update(`${JSON.stringify(name)} ${found.mode}\n`);
    if (found.isSymbolicLink()) hash.update(await readlink(path));
    else if (found.isFile()) hash.update(await readFile(path).catch(() => ""));
  }
  return hash.digest("hex");
}
