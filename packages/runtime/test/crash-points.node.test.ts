import { openSql } from "../src/host/node/index.ts";
import { crashPointsContract } from "./crash-points.contract.ts";

crashPointsContract(
  "in memory",
  async (body) => {
    const { sql, close } = await openSql(":memory:");
    try {
      await body(sql);
    } finally {
      await close();
    }
  },
  4,
);
