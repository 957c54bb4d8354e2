// Starts a timer of an hour and a checkpoint worker, and has nothing else to do: it must end by itself.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodePlatform, openSql } from "../../src/host/node/index.ts";

const platform = nodePlatform({ report: () => process.exit(1) });
platform.after(3_600_000, () => process.exit(2));
const folder = await mkdtemp(join(tmpdir(), "wait-"));
const { sql, checkpoints } = await openSql(join(folder, "store.db"));
sql.run("create table item (bytes blob)");
sql.run("insert into item values (?)", new Uint8Array(6 * 1_048_576));
await sql.durable();
const alive = setInterval(() => {}, 1_000);
await checkpoints?.settled();
clearInterval(alive);
await rm(folder, { recursive: true });
process.stdout.write("copied\n");
