import { type Json, Redactor } from "@lichen/capability";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { secretsOf } from "../src/secrets/secrets-of.ts";

const secret = fc
  .string({ unit: "binary-ascii", minLength: 8, maxLength: 60 })
  .filter((it) => it.trim() === it);

test("[V50] a secret comes back in no spelling: plain, escaped in any way, percent-coded, in base64 at any place, in hex, in values and names", () => {
  fc.assert(
    fc.property(secret, fc.nat(2), (given, place) => {
      const redact = new Redactor([given]);
      const escaped = Array.from(
        given,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
      const parsed: Json = JSON.parse(`{"a":["${escaped.join("")}"],"${escaped.join("")}":1}`);
      expect(JSON.stringify(redact.json(parsed))).not.toContain(JSON.stringify(given).slice(1, -1));
      const coded = Buffer.from("x".repeat(place) + given + "tail");
      for (const spelled of [coded.toString("base64"), coded.toString("base64url")]) {
        const left = Buffer.from(redact.text(spelled), "base64").toString("latin1");
        expect(left).not.toContain(given);
      }
      for (const spelled of [
        given,
        encodeURIComponent(given),
        new URLSearchParams({ a: given }).toString().slice(2),
        encodeURIComponent(given).replaceAll(/%../g, (code) => code.toLowerCase()),
        Buffer.from(given).toString("hex").replaceAll(/../g, "%$&"),
        given
          .replaceAll("&", "&amp;")
          .replaceAll("<", "&lt;")
          .replaceAll(">", "&gt;")
          .replaceAll('"', "&quot;")
          .replaceAll("'", "&#39;"),
        coded.toString("hex"),
        JSON.stringify(given).replaceAll("/", "\\/"),
      ]) {
        const cleaned = redact.text(`before ${spelled} after`);
        expect(cleaned).toContain("[redacted]");
        expect(cleaned).not.toContain(given);
      }
      const bytes = redact.bytes(
        new Uint8Array(Buffer.concat([Buffer.from([0, 255]), Buffer.from(given)])),
      );
      expect(Buffer.from(bytes).toString("latin1")).not.toContain(given);
    }),
    { numRuns: 300 },
  );
});

test("[V50] a secret that comes in pieces is known by its beginning, and one that is cut at the front is cleaned before", () => {
  const redact = new Redactor(["canary-secret"]);
  expect(redact.begun("it is canary-se")).toBe("canary-se".length);
  expect(redact.begun("nothing of it.")).toBe(0);
  const said = `${"x".repeat(3_990)}canary-secret and more`;
  expect(redact.lastOf(said, 20)).not.toMatch(/secret and/);
});

test("[V50] a secret that stands within a header's value is known by itself", () => {
  const headers = { authorization: 'Token token="canary-secret", v=2' };
  const redact = new Redactor(secretsOf({ kind: "header", headers, secrets: ["canary-secret"] }));
  expect(redact.text("token canary-secret is bad")).toBe("token [redacted] is bad");
});

test("[V50] what is no secret stays as it is, also where nothing is to be hidden", () => {
  const value = { a: [1, "text", null, { b: true }] };
  expect(new Redactor([]).json(value)).toBe(value);
  expect(new Redactor(["abc"]).text("abc is too short to be one")).toContain("abc");
  expect(new Redactor(["canary-secret"]).json(value)).toEqual(value);
});
