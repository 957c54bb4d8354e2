// The contract of executors, held by the one of Node. One executor serves all: programs share nothing.

import { afterAll } from "vitest";
import { createQuickJsExecutor } from "../../src/host/node.ts";
import { executorContract } from "./executor.contract.ts";

const executor = createQuickJsExecutor();
afterAll(() => executor.close());

executorContract(() => ({
  execute: (...given) => executor.execute(...given),
  close: async () => {},
}));
