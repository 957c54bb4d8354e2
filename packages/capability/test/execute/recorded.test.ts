// What is journalled of a call comes back as it was, whatever the call answered.

import type { Json, JsonObject } from "@lichen/capability";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromRecord, toRecord } from "../../src/execute/recorded.ts";

const json = fc.jsonValue() as fc.Arbitrary<Json>;
const value = fc.oneof(
  fc.constant(undefined),
  json,
  json.map((inner): Json => ({ $answered: inner })),
  json.map((inner): Json => ({ $answered: { value: inner, images: [] } })),
);
const image = fc.record({
  number: fc.nat(),
  mediaType: fc.constantFrom("image/png", "image/webp"),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});
const display = fc.dictionary(fc.string(), json) as fc.Arbitrary<JsonObject>;

test("[D10] [D11] a journalled answer gives its value, images and display data back, also through JSON", () => {
  fc.assert(
    fc.property(value, fc.array(image), fc.array(display), (given, images, shown) => {
      const answered = { ...(given === undefined ? {} : { value: given }), images, display: shown };
      const record = toRecord(answered);
      const stored =
        record === undefined ? undefined : (JSON.parse(JSON.stringify(record)) as Json);
      expect(fromRecord(stored)).toEqual(JSON.parse(JSON.stringify(answered), revived(images)));
    }),
  );
});

/** JSON has no bytes: they stand as they were. */
function revived(images: readonly { readonly bytes: Uint8Array }[]) {
  let at = 0;
  return (key: string, found: unknown): unknown =>
    key === "bytes" && at < images.length ? images[at++]?.bytes : found;
}
