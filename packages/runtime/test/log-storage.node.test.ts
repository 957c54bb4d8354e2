import { openSql } from "../src/host/node/index.ts";
import { blobContract } from "./blob.contract.ts";
import { searchContract } from "./search.contract.ts";
import type { WithSql } from "./sql.contract.ts";

const inMemory: WithSql = async (body) => {
  const { sql, close } = await openSql(":memory:");
  try {
    await body(sql);
  } finally {
    await close();
  }
};

blobContract("node:sqlite", inMemory);
searchContract("node:sqlite", inMemory);
