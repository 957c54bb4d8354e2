import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodePlatform } from "../src/host/node/index.ts";
import { platformContract } from "./platform.contract.ts";

platformContract("Node", () =>
  nodePlatform({
    report(error) {
      throw error;
    },
  }),
);

test("[S12] neither a timer nor a checkpoint worker keeps a process alive", async () => {
  const program = join(import.meta.dirname, "programs/wait-for-nothing.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: {},
    timeout: 20_000,
  });
  expect(stdout).toBe("copied\n");
});
