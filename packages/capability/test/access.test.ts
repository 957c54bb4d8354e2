import fc from "fast-check";
import { expect, test } from "vitest";
import { type Access, decide, type Grant, type Label } from "../src/index.ts";

const keys = ["post", "files", "constructor", "__proto__"];
const grant = fc.constantFrom<Grant>("none", "read", "write");
const grants = fc
  .array(fc.tuple(fc.constantFrom(...keys), grant))
  .map((entries) => Object.fromEntries(entries));
const access: fc.Arbitrary<Access> = fc.record(
  {
    defaults: grants,
    delivered: grants,
    required: fc.subarray(keys),
    strict: fc.boolean(),
  },
  { requiredKeys: [] },
);
const label = fc.constantFrom<Label>("read", "write");

test("[Z1] a delivered grant comes before the default, key by key, and write includes read", () => {
  const access: Access = {
    defaults: { post: "write", files: "read" },
    delivered: { post: "none" },
  };
  expect(decide(access, "post", "read").allowed).toBe(false);
  expect(decide(access, "files", "read").allowed).toBe(true);
  expect(decide(access, "files", "write").allowed).toBe(false);
  expect(decide({ delivered: { post: "write" } }, "post", "read").allowed).toBe(true);
});

test("[Z1] whatever else is said, a key's own grant decides, and more is never less", () => {
  fc.assert(
    fc.property(access, fc.constantFrom(...keys), label, grant, (rules, key, wanted, given) => {
      const delivered = Object.fromEntries([[key, given]]);
      const { allowed } = decide({ ...rules, delivered }, key, wanted);
      expect(allowed).toBe(given === "write" || given === wanted);
      if (decide(rules, key, "write").allowed)
        expect(decide(rules, key, "read").allowed).toBe(true);
    }),
  );
});

test("[Z2] a required key without a grant is refused, in a strict agent every key; any other is allowed", () => {
  expect(decide({}, "post", "write")).toEqual({ allowed: true });
  expect(decide({ required: ["files"] }, "post", "write").allowed).toBe(true);
  expect(decide({ required: ["post"] }, "post", "read").allowed).toBe(false);
  expect(decide({ strict: true }, "post", "read").allowed).toBe(false);
  expect(decide({ strict: true, delivered: { post: "read" } }, "post", "read").allowed).toBe(true);
  fc.assert(
    fc.property(access, label, (rules, wanted) => {
      const { allowed } = decide(rules, "unheard of", wanted);
      expect(allowed).toBe(rules.strict !== true);
    }),
  );
});

test("[Z2] a refusal names the key, what is missing and what to do", () => {
  const refused = decide({ delivered: { post: "read" } }, "post", "write");
  expect(refused).toMatchObject({ allowed: false, code: "denied" });
  expect(JSON.stringify(refused)).toMatch(/post.*write.*did not run.*grant it/);
});
