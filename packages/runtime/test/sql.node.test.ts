import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSql } from "../src/host/node/index.ts";
import { sqlContract } from "./sql.contract.ts";

sqlContract("node:sqlite in memory", async (body) => {
  const { sql, close } = await openSql(":memory:");
  try {
    await body(sql);
  } finally {
    await close();
  }
});

sqlContract("a file of node:sqlite", async (body) => {
  const folder = await mkdtemp(join(tmpdir(), "sql-"));
  const { sql, close } = await openSql(join(folder, "store.db"));
  try {
    await body(sql);
  } finally {
    await close();
    await rm(folder, { recursive: true });
  }
});
