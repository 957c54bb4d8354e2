import { createHash } from "node:crypto";
import { type Json, type JsonObject, utf8Bytes } from "@lichen/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonType, restore, type Spilled, spill, textType } from "../src/log/spill.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const whole = ({ data, blobs }: Spilled): JsonObject =>
  restore(data, (wanted) => blobs.find((blob) => blob.sha256 === wanted)?.bytes);
const sizeOf = (data: Json): number => utf8Bytes(JSON.stringify(data));

test("[S15] small data stays the same object and costs no blob", () => {
  const data = {
    text: "x".repeat(8_000),
    images: [{ blob: "a".repeat(64), mimeType: "image/png", bytes: 5 }],
  };
  const spilled = spill(data, () => expect.unreachable());
  expect(spilled.data).toBe(data);
  expect(spilled.blobs).toEqual([]);
  expect(restore(data, () => undefined)).toBe(data);
});

test("[S15] a string above 32 KiB of UTF-8 becomes a text blob, one of exactly that stays", () => {
  const long = "ü".repeat(16_385);
  const { data, blobs } = spill({ text: long, other: "y".repeat(32_768) }, sha256);
  expect(data["other"]).toBe("y".repeat(32_768));
  expect(data["text"]).toEqual({ blob: blobs[0]!.sha256, mimeType: textType, bytes: 32_770 });
  expect(blobs).toHaveLength(1);
  expect(whole({ data, blobs })).toEqual({ text: long, other: "y".repeat(32_768) });
});

test("[S15] where the JSON stays above 512 KiB the longest strings go first, and no more than needed", () => {
  const content = Array.from({ length: 40 }, (_, index) => ({
    type: "text",
    text: `${index} ${"z".repeat(15_000 + index)}`,
  }));
  const { data, blobs } = spill({ content }, sha256);
  expect(sizeOf(data)).toBeLessThanOrEqual(524_288);
  expect(sizeOf(data)).toBeGreaterThan(480_000);
  expect(blobs.length).toBeLessThan(10);
  expect((data["content"] as { text: unknown }[])[39]!.text).toMatchObject({ mimeType: textType });
  expect((data["content"] as { text: unknown }[])[0]!.text).toBe(content[0]!.text);
  expect(whole({ data, blobs })).toEqual({ content });
});

test("[S16] very many small values become one blob of JSON where the data is free, and a whole field at last", () => {
  const numbers = Array.from({ length: 200_000 }, (_, index) => index);
  const free = spill({ content: [{ type: "call", input: { numbers } }], stop: "calls" }, sha256);
  expect(free.data).toMatchObject({
    content: [{ type: "call", input: { mimeType: jsonType } }],
    stop: "calls",
  });
  expect(whole(free)).toEqual({ content: [{ type: "call", input: { numbers } }], stop: "calls" });
  const field = spill({ content: numbers.map((n) => ({ n })), stop: "calls" }, sha256);
  expect(field.data).toMatchObject({ content: { mimeType: jsonType }, stop: "calls" });
  expect(whole(field)).toEqual({ content: numbers.map((n) => ({ n })), stop: "calls" });
});

test("[S15] what only looks like a reference comes back as it was given, and true references to text are read", () => {
  const secret = new TextEncoder().encode("somebody's text");
  const reference = { blob: sha256(secret), mimeType: textType, bytes: secret.length };
  const image = { blob: sha256(secret), mimeType: "image/png", bytes: secret.length };
  const { data, blobs } = spill(
    { text: reference, content: [{ image }], data: { deep: [reference] }, input: reference },
    sha256,
  );
  const read = (wanted: string): Uint8Array | undefined =>
    wanted === reference.blob ? secret : blobs.find((blob) => blob.sha256 === wanted)?.bytes;
  expect(restore(data, read)).toEqual({
    text: "somebody's text",
    content: [{ image }],
    data: { deep: [reference] },
    input: reference,
  });
});

test("[S15] half characters, a byte order mark, the name __proto__ and a blob nobody has survive", () => {
  const data: JsonObject = {
    text: `\ufeff${"a".repeat(40_000)}`,
    half: `\ud83d${"b".repeat(40_000)}`,
    data: JSON.parse(`{"__proto__": "${"c".repeat(40_000)}"}`) as Json,
  };
  const spilled = spill(data, sha256);
  expect(spilled.blobs).toHaveLength(3);
  expect(JSON.stringify(whole(spilled))).toBe(JSON.stringify(data));
  expect(restore(spilled.data, () => undefined)).toEqual(spilled.data);
});

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 6 }), fc.nat(14_000))
    .map(([unit, times]) => unit.repeat(times)),
  fc.constant("\u0001".repeat(20_000)),
);
const reference = fc.record({
  blob: fc.constantFrom("a".repeat(64), "0".repeat(64)),
  mimeType: fc.constantFrom(textType, jsonType, "image/png"),
  bytes: fc.nat(),
});
const { json } = fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    fc.constantFrom<Json>(null, true, 7, 1.5),
    reference,
    fc.array(tie("json"), { maxLength: 5 }),
    tie("object"),
    fc
      .tuple(tie("json"), fc.nat(3_000))
      .map(([item, times]): Json => (sizeOf(item) < 2_000 ? Array<Json>(times).fill(item) : item)),
  ),
  object: fc.dictionary(fc.string({ maxLength: 8 }), tie("json"), {
    maxKeys: 5,
  }) as fc.Arbitrary<JsonObject>,
}));

test("[S16] any data comes back as it was, and no row exceeds 512 KiB", () => {
  fc.assert(
    fc.property(
      fc.record({
        text,
        data: json,
        input: json,
        content: fc.array(fc.record({ text, input: json }), { maxLength: 12 }),
      }),
      (data) => {
        const spilled = spill(data, sha256);
        expect(sizeOf(spilled.data)).toBeLessThanOrEqual(524_288);
        for (const blob of spilled.blobs) expect(blob.sha256).toBe(sha256(blob.bytes));
        expect(JSON.stringify(whole(spilled)) === JSON.stringify(data)).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
});
