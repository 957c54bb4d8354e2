// Tests that get a stage each.

import { expect, test } from "vitest";
import type { WithSql } from "./sql.contract.ts";
import { Stage } from "./stage.ts";

export type Check = (name: string, body: (stage: Stage) => Promise<void>) => void;

/** Makes tests that get a stage on an empty database of a host, and fail where something unexpected was reported. */
export function onStage(host: string, withSql: WithSql): Check {
  return (name, body) =>
    test(`${name} (${host})`, () =>
      withSql(async (sql) => {
        const stage = new Stage(sql);
        try {
          await body(stage);
          expect(stage.reports).toEqual([]);
        } finally {
          stage.end();
        }
      }));
}
