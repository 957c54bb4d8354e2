// What an executor keeps alive in a process of its own: what runs, nothing else.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createQuickJsExecutor } from "../../src/host/node.ts";

const entry = join(import.meta.dirname, "../../src/execute/host/quickjs-executor.ts");

test("[B20] a process that ran a program ends by itself, without closing anything", async () => {
  const code = `const { createQuickJsExecutor } = await import(${JSON.stringify(entry)});
    const executor = createQuickJsExecutor();
    await executor.warm();
    const { result } = await executor.execute("return await api.a()", { api: { a: async () => 42 } });
    console.log(result.value);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 20_000,
  });
  let out = "";
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  expect(await once(child, "close")).toEqual([0, null]);
  expect(out).toBe("42\n");
});

test("[B20] closing stops what runs, and nothing runs afterwards", async () => {
  const executor = createQuickJsExecutor();
  const up = Promise.withResolvers<void>();
  const ran = executor.execute("await api.up(); for (;;);", {
    api: { up: async () => up.resolve() },
  });
  await up.promise;
  await executor.close();
  expect((await ran).result).toEqual({
    ok: false,
    reason: "aborted",
    message: "The program was stopped. The executor is closed.",
  });
  await expect(executor.execute("return 1", {})).rejects.toThrow("closed");
});
