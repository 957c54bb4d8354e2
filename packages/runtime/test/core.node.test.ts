// The core's suites on a database in memory, which is as fast as it gets.

import { openSql } from "../src/host/node/index.ts";
import { coreContract } from "./core.contract.ts";

coreContract("in memory", async (body) => {
  const { sql, close } = await openSql(":memory:");
  try {
    await body(sql);
  } finally {
    await close();
  }
});
