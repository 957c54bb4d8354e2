// A disk of a few MiB that can be filled: a file system of its own where this user may mount one, else a database that
// may not grow.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Sql } from "../src/store/sql.ts";

const run = promisify(execFile);

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** From here on there is an end. */
  limit(sql: Sql): void;
  /** There is space again. */
  free(sql: Sql): Promise<void>;
}

export async function smallDisk(): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), "disk-"));
  const isMounted = await run("mount", [
    "-t",
    "tmpfs",
    "-o",
    "size=4m,mode=700",
    "tmpfs",
    folder,
  ]).then(
    () => true,
    () => false,
  );
  return {
    folder,
    limit: (sql) => (isMounted ? undefined : sql.run("pragma max_page_count = 500")),
    async free(sql) {
      if (isMounted) await run("mount", ["-o", "remount,size=32m", folder]);
      else sql.run("pragma max_page_count = 1000000");
    },
    async [Symbol.asyncDispose]() {
      if (isMounted) await run("umount", [folder]);
      await rm(folder, { recursive: true });
    },
  };
}
