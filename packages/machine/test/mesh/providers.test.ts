import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  loopbackProvider,
  meshFileName,
  openStaticProvider,
  SnapshotProvider,
} from "../../src/access/index.ts";
import { HandClock, writeMeshes } from "../access/rig.ts";
import { describeProvider, type ProviderKit } from "./provider.contract.ts";

test("[DV11] a source that never answers keeps nobody waiting for longer than five seconds", async () => {
  const clock = new HandClock();
  const opening = SnapshotProvider.open({
    source: { name: "stuck", read: () => new Promise(() => {}) },
    platform: { now: clock.now, after: clock.after, report: () => {} },
  });
  clock.advance(5_000);
  const provider = await opening;
  const asked = provider.whoIs("10.0.0.1");
  clock.advance(5_000);
  expect(await asked).toEqual({ kind: "unknown" });
  expect(provider.problem()).toMatch(/did not answer in 5 s/);
  provider.close();
});

describe("providers of meshes", () => {
  describeProvider("static", (): ProviderKit => {
    const dir = mkdtempSync(join(tmpdir(), "lichen-mesh-"));
    const clock = new HandClock();
    return {
      clock,
      set: (world) => {
        if (world === undefined) rmSync(join(dir, meshFileName), { force: true });
        else writeMeshes(dir, world);
      },
      open: () =>
        openStaticProvider(dir, {
          now: clock.now,
          after: clock.after,
          report: (error) => {
            throw error;
          },
        }),
      [Symbol.dispose]: () => rmSync(dir, { recursive: true }),
    };
  });

  describeProvider(
    "loopback",
    (): ProviderKit => ({
      clock: new HandClock(),
      set: () => {},
      open: () => Promise.resolve(loopbackProvider("here")),
      [Symbol.dispose]: () => {},
    }),
    { self: "127.0.0.1", alone: true },
  );
});
