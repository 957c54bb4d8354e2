import { expect, test } from "vitest";
import type { Platform } from "../src/platform.ts";

/** What the runtime relies on from any host's platform. */
export function platformContract(host: string, create: () => Platform): void {
  test(`[S12] digests are SHA-256 in hex of text and of bytes alike (${host})`, () => {
    const platform = create();
    expect(platform.sha256("")).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    expect(platform.sha256("grün")).toBe(platform.sha256(new TextEncoder().encode("grün")));
  });

  test(`[S12] random ids have the length asked for, only digits and small letters, and no letter is favoured (${host})`, () => {
    const platform = create();
    expect(platform.randomId(0)).toBe("");
    expect(platform.randomId(1)).toMatch(/^[0-9a-z]$/);
    const many = platform.randomId(36_000);
    expect(many).toMatch(/^[0-9a-z]{36000}$/);
    const counts = Map.groupBy(many, (letter) => letter);
    expect(counts.size).toBe(36);
    // A thousand each: 7 standard deviations are about 220.
    for (const letters of counts.values())
      expect(Math.abs(letters.length - 1_000)).toBeLessThan(220);
  });

  test(`[S12] bytes survive base64 and back, also as a part of a larger buffer (${host})`, () => {
    const platform = create();
    const bytes = new Uint8Array(300).map((_, index) => index).subarray(3, 290);
    expect([...platform.fromBase64(platform.toBase64(bytes))]).toEqual([...bytes]);
    expect(platform.toBase64(new Uint8Array([255, 254, 253]))).toBe("//79");
  });

  test(`[S12] a timer wakes once and never before its time, and a cancelled one never (${host})`, async () => {
    const platform = create();
    const began = platform.now();
    const woken: string[] = [];
    const cancel = platform.after(5, () => woken.push("cancelled"));
    const { promise, resolve } = Promise.withResolvers<number>();
    platform.after(20, () => {
      woken.push("due");
      resolve(platform.now());
    });
    cancel();
    // The wall clock and the timer's may differ by a millisecond of rounding.
    expect((await promise) - began).toBeGreaterThanOrEqual(19);
    expect(woken).toEqual(["due"]);
    platform.after(4_000_000_000, () => woken.push("in 46 days"))();
    await new Promise<void>((done) => platform.soon(done));
    expect(woken).toEqual(["due"]);
  });
}
