import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { loopbackProvider, meshFileName, openStaticProvider } from "../../src/access/index.ts";
import { HandClock, writeMeshes } from "../access/rig.ts";
import { describeProvider, type ProviderKit } from "./provider.contract.ts";

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
