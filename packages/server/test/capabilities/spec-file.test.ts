// The file that a connection names as its OpenAPI document.

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSpecFile } from "../../src/capabilities/host/spec-file.ts";

test("[M55] only a regular file is read as a document, and none that is too large", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lichen-spec-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const read = (path: string, signal = new AbortController().signal) =>
    readSpecFile(path, "api.json", signal);
  const file = join(folder, "api.json");
  await writeFile(file, '{"openapi":"3.1.0"}');
  expect(await read(file)).toBe('{"openapi":"3.1.0"}');
  await expect(read(file, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");

  await truncate(file, 40 * 1_024 * 1_024);
  await expect(read(file)).rejects.toMatchObject({
    code: "bad_document",
    message: "The OpenAPI document api.json has more than 33554432 bytes, which are the most.",
  });
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const place of [pipe, "/dev/zero", folder])
    await expect(read(place)).rejects.toMatchObject({
      code: "bad_document",
      message: expect.stringContaining("is no regular file"),
    });
  await expect(read(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
});
