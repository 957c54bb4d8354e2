import { isIPv6 } from "node:net";
import { expect, test } from "vitest";
import { normalAddress } from "../../src/mesh/address.ts";

test("[DV18] an address has one form, whatever it is written as", () => {
  const cases: [string, string | undefined][] = [
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:0a00:0001", "10.0.0.1"],
    ["0:0:0:0:0:ffff:10.0.0.1", "10.0.0.1"],
    ["::ffff:0:0", "0.0.0.0"],
    ["::10.0.0.1", "::a00:1"],
    ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
    ["FE80::1%eth0", "fe80::1"],
    ["::", "::"],
    ["1::", "1::"],
    ["::1", "::1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:0:2:3:0:0:4", "1::2:3:0:0:4"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["", undefined],
    ["010.0.0.1", undefined],
    ["10.0.0.1:80", undefined],
    ["[::1]", undefined],
    ["::1::", undefined],
  ];
  for (const [text, form] of cases) expect(normalAddress(text), text).toBe(form);
  // As the platform writes it.
  let seed = 7;
  const next = () => (seed = (seed * 48_271) % 2_147_483_647);
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: 8 }, () => (next() % 3 === 0 ? next() % 65_536 : 0))
      .map((group) => group.toString(16).padStart(next() % 5, "0"))
      .join(":");
    if (!isIPv6(text)) throw new Error(text);
    const host = new URL(`http://[${text}]`).hostname.slice(1, -1);
    const mapped = /^::ffff:/.test(host);
    if (!mapped) expect(normalAddress(text), text).toBe(host);
  }
});
