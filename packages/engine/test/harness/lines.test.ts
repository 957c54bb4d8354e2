import type { Json } from "@lichen/wire";
import { expect, test } from "vitest";
import { Lines } from "../../src/harness/host/lines.ts";

function heard() {
  const values: Json[] = [];
  const noise: string[] = [];
  const refused: string[] = [];
  const lines = new Lines({
    line: (value) => values.push(value),
    noise: (text) => noise.push(text),
    refused: (reason) => {
      refused.push(reason);
      values.push("refused");
    },
  });
  return { values, noise, refused, lines };
}

test("[HK4] lines cut at every byte come whole and in order, without their carriage returns", async () => {
  const bytes = Buffer.from('{"a":"ä€😀"}\r\n\n[1]\nnoise\n"last"');
  const { values, noise, lines } = heard();
  for (const byte of bytes) lines.push(Buffer.from([byte]));
  await lines.end();
  expect(values).toEqual([{ a: "ä€😀" }, [1], "last"]);
  expect(noise).toEqual(["noise"]);
});

test("[HK6] a large line is parsed in a thread, and what follows it waits for it", async () => {
  const large = "x".repeat(20_000_000);
  const { values, lines } = heard();
  lines.push(Buffer.from(`1\n${JSON.stringify({ large })}\n2\n`));
  expect(values).toEqual([1]);
  lines.push(Buffer.from(`${JSON.stringify({ again: large })}\n{"a":3}\n`));
  await lines.end();
  expect(values).toEqual([1, { large }, 2, { again: large }, { a: 3 }]);
});

test("[HK5] a line over 64 MiB is refused by a sentence, and the ones after it are read", async () => {
  const { values, refused, lines } = heard();
  const chunk = Buffer.alloc(1024 * 1024, "x");
  lines.push(Buffer.from("1\n"));
  for (let n = 0; n < 65; n++) lines.push(chunk);
  lines.push(Buffer.from("\n2\n"));
  await lines.end();
  expect(values).toEqual([1, "refused", 2]);
  expect(refused).toEqual(["A line of 68157440 bytes was left out: at most 67108864 are read."]);
});
