// What capabilities and grants promise, in a file: crashes after each commit included.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSql } from "../src/host/node/index.ts";
import { capabilitiesContract } from "./capabilities.contract.ts";
import { grantsContract } from "./grants.contract.ts";
import type { WithSql } from "./sql.contract.ts";

const inFile: WithSql = async (body) => {
  const folder = await mkdtemp(join(tmpdir(), "capabilities-"));
  const { sql, close } = await openSql(join(folder, "host.db"));
  try {
    await body(sql);
  } finally {
    await close();
    await rm(folder, { recursive: true, force: true });
  }
};

capabilitiesContract("in a file", inFile);
grantsContract("in a file", inFile);
