import { expect, test } from "vitest";
import type { Sql } from "../src/store/sql.ts";

test("[S1] a transaction body that awaits does not compile", () => {
  const check = (sql: Sql): void => {
    sql.transact(() => 1);
    // @ts-expect-error an async body would let another writer in between
    void sql.transact(async () => 1);
    // @ts-expect-error so would a promise that the body hands on
    void sql.transact(() => sql.durable());
  };
  expect(check).toBeTypeOf("function");
});
