// The properties of the core, on databases in memory.

import { openSql } from "../src/host/node/index.ts";
import { foldLawContract } from "./fold-law.contract.ts";
import { modelContract } from "./model.contract.ts";
import { placesContract } from "./places.contract.ts";
import { programLawContract } from "./program-properties.contract.ts";
import type { WithSql } from "./sql.contract.ts";

const inMemory: WithSql = async (body) => {
  const { sql, close } = await openSql(":memory:");
  try {
    await body(sql);
  } finally {
    await close();
  }
};

foldLawContract("in memory", inMemory, 60);
modelContract("in memory", inMemory, 150);
placesContract("in memory", inMemory, 120);
programLawContract("in memory", inMemory, 120);
