// The place that a damaged store is copied to: nobody else's meanwhile, and never with a copy of nothing in it.

import { writeFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acquireLease, nodePlatform, salvageStore } from "../src/host/node/index.ts";
import { refusal } from "./stage.ts";

const platform = nodePlatform({
  report: (error) => {
    throw error;
  },
});
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "salvage-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A store with several sessions and blobs. */
async function storeIn(name: string): Promise<string> {
  await mkdir(join(folder, name));
  const path = join(folder, name, "host.db");
  await copyFile(join(import.meta.dirname, "stores/schema-1.db"), path);
  return path;
}

test("[S34] the new store is nobody else's while it is made, and what somebody makes there meanwhile is left as it is", async () => {
  const from = await storeIn("raced");
  const to = join(folder, "raced-to", "host.db");
  const lease = await acquireLease(to);
  expect(await refusal(salvageStore({ from, to, platform }))).toBe("unavailable");
  lease.release();
  expect(await readdir(join(to, ".."))).toEqual(["host.db-lease"]);

  const tries: Promise<string>[] = [];
  const beside = {
    ...platform,
    sha256: (data: Uint8Array | string) => {
      if (tries.length === 0) tries.push(refusal(acquireLease(to)));
      return platform.sha256(data);
    },
  };
  const { sessions } = await salvageStore({ from, to, platform: beside });
  expect(await Promise.all(tries)).toEqual(["unavailable"]);
  expect(sessions.length).toBeGreaterThan(3);
  (await acquireLease(to)).release();

  // Another program keeps to no lease.
  const taken = join(folder, "raced-taken", "host.db");
  const rude = {
    ...platform,
    sha256: (data: Uint8Array | string) => {
      writeFileSync(taken, "mine");
      return platform.sha256(data);
    },
  };
  expect(await refusal(salvageStore({ from, to: taken, platform: rude }))).toBe("conflict");
  expect(await readFile(taken, "utf8")).toBe("mine");
  expect((await readdir(join(taken, ".."))).toSorted()).toEqual(["host.db", "host.db-lease"]);
});

test("[S34] a store of which no conversation is left is refused, and no copy of nothing is made", async () => {
  const from = await storeIn("wordless");
  const db = new DatabaseSync(from);
  db.exec("delete from session; delete from entry; vacuum; pragma wal_checkpoint(TRUNCATE)");
  db.close();
  const noisy = await open(from, "r+");
  await noisy.write(new Uint8Array(4_096).fill(3), 0, 4_096, 4_096 * 2);
  await noisy.close();
  const to = join(folder, "wordless-to", "host.db");
  expect(await refusal(salvageStore({ from, to, platform }))).toBe("unreadable");
  expect(await readdir(join(to, ".."))).toEqual(["host.db-lease"]);
  // The same folder takes what a backup still holds.
  expect((await salvageStore({ from: await storeIn("whole"), to, platform })).sessions).not.toEqual(
    [],
  );
});
