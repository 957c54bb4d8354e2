import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileCredentials } from "../../src/host/node.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lichen-credentials-"));
  path = join(folder, "private", "credentials.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("[E40] stored keys are readable by their owner only", async () => {
  const store = fileCredentials(path);
  await store.modify("openai", async () => ({ type: "api_key", key: "k1" }));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, "private"))).mode & 0o777).toBe(0o700);
  expect(await fileCredentials(path).read("openai")).toEqual({ type: "api_key", key: "k1" });
  expect(await store.list()).toEqual([{ providerId: "openai", type: "api_key" }]);
  await store.delete("openai");
  expect(await store.read("openai")).toBeUndefined();
  expect(await store.read("constructor")).toBeUndefined();
});

test("[E41] changes from two holders of the file come one after another and none is lost", async () => {
  const holders = [fileCredentials(path), fileCredentials(path)];
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      holders[n % 2]!.modify(`p${n}`, async () => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
        return { type: "api_key", key: String(n) };
      }),
    ),
  );
  expect(most).toBe(1);
  expect(await holders[0]!.list()).toHaveLength(10);
});

test("[E42] a credentials file that cannot be understood is refused and left as it is", async () => {
  await fileCredentials(path).modify("a", async () => ({ type: "api_key", key: "k" }));
  for (const text of ["{half", '{"a":{"type":"odd"}}']) {
    await writeFile(path, text);
    const store = fileCredentials(path);
    await expect(store.read("a")).rejects.toMatchObject({ code: "unreadable" });
    await expect(store.modify("a", async () => ({ type: "api_key" }))).rejects.toMatchObject({
      code: "unreadable",
    });
    expect(await readFile(path, "utf8")).toBe(text);
  }
});

test("[E43] a change whose caller gives up or throws leaves the file as it was", async () => {
  const store = fileCredentials(path);
  await store.modify("a", async () => ({ type: "api_key", key: "k" }));
  await expect(
    store.modify("a", async () => {
      throw new Error("refused");
    }),
  ).rejects.toThrow("refused");
  await expect(
    store.modify("a", async () => ({ type: "api_key", key: "x" }), { signal: AbortSignal.abort() }),
  ).rejects.toThrow();
  expect(await store.read("a")).toEqual({ type: "api_key", key: "k" });
});
