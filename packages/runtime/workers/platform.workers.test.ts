import { expect, test } from "vitest";
import { cloudflarePlatform } from "../src/host/cloudflare.ts";
import { platformContract } from "../test/platform.contract.ts";

const report = (error: unknown): never => {
  throw error;
};

platformContract("Cloudflare", () => cloudflarePlatform({ report }));

test("[S12] the host is told when the earliest timer is due, and when none waits any more", () => {
  const told: (number | undefined)[] = [];
  const platform = cloudflarePlatform({ report, alarm: (at) => void told.push(at) });
  const now = platform.now();
  const late = platform.after(60_000, () => {});
  const early = platform.after(30_000, () => {});
  early();
  late();
  expect(told.map((at) => at !== undefined && Math.round((at - now) / 1_000))).toEqual([
    60,
    30,
    60,
    false,
  ]);
});
