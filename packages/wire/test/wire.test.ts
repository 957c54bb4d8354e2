import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Baseline,
  baselineBytes,
  baselineEntries,
  canonicalJson,
  Command,
  cut,
  type Entry,
  Fault,
  faultBody,
  faultCodeOf,
  faultStatus,
  foldBaseline,
  imageTypeOfBase64,
  known,
  ModelPage,
  noUsage,
  parseEntry,
  RequestId,
  SessionId,
  textLimitBytes,
  utf8Bytes,
} from "../src/index.ts";

test("[W1] every code has one status, and a refusal says whether to try again", () => {
  expect(Object.values(faultStatus).every((status) => status >= 400 && status <= 503)).toBe(true);
  expect(faultBody(new Fault("capacity", "full"))).toEqual({
    error: { code: "capacity", message: "full", retryable: true },
  });
  expect(faultBody(new Fault("conflict", "used")).error.retryable).toBe(false);
  expect(faultBody(new Fault("busy", "wait", { retryable: true })).error.retryable).toBe(true);
});

test("[W1] a refusal is known across realms by its name and code", () => {
  const foreign = Object.assign(new Error("x"), { name: "Fault", code: "stale" });
  expect(Fault.is(foreign)).toBe(true);
  expect(Fault.is(new Error("x"))).toBe(false);
  expect(Fault.is("stale")).toBe(false);
});

test("[W2] an unknown field is refused and named, also metadata", () => {
  const result = Command.safeParse({ type: "prompt", requestId: "r", text: "x", meta: { a: 1 } });
  expect(result.success).toBe(false);
  expect(JSON.stringify(result.error?.issues)).toContain("meta");
});

test("[W2] an unknown type of command is refused", () => {
  expect(Command.safeParse({ type: "shout", requestId: "r", text: "x" }).success).toBe(false);
});

/** What a refused command is refused for: the code, the field and the words. */
function refusedFor(command: object): { code: string; at: string; message: string } | undefined {
  const [issue] = Command.safeParse({ requestId: "r", ...command }).error?.issues ?? [];
  return (
    issue && {
      code: faultCodeOf(issue),
      at: issue.path.map(String).join("."),
      message: issue.message,
    }
  );
}

const base64 = (latin1: string) => btoa(latin1);
const pictures = {
  "image/png": base64("\u0089PNG\r\n\u001a\n"),
  "image/jpeg": base64("\u00ff\u00d8\u00ff\u00e0"),
  "image/gif": base64("GIF89a...."),
  "image/webp": base64("RIFF\u0001\u0002\u0003\u0004WEBPVP8 "),
};

test("[W7] an image is of its kind by its own first bytes, or is refused by name", () => {
  const first = (mimeType: string, data: string) =>
    refusedFor({ type: "prompt", text: "x", images: [{ mimeType, data }] });
  for (const [mimeType, data] of Object.entries(pictures)) {
    expect(first(mimeType, data)).toBeUndefined();
    expect(imageTypeOfBase64(data)).toBe(mimeType);
    for (const other of Object.keys(pictures))
      if (other !== mimeType)
        expect(first(other, data)).toMatchObject({ code: "invalid", at: "images.0.data" });
  }
  for (const data of ["", "AAAA", "no base64!", "iVBO", "iVBORw0KGgo", base64("RIFF....WAVE")])
    expect(first("image/png", data), data).toMatchObject({ code: "invalid", at: "images.0.data" });
  expect(first("image/png", "")?.message).toContain("it holds no byte");
  expect(first("image/png", pictures["image/gif"])?.message).toContain("its bytes are image/gif");
  expect(first("image/svg+xml", base64("<svg/>"))).toMatchObject({ at: "images.0.mimeType" });
  fc.assert(
    fc.property(fc.string(), (data) => {
      expect(Object.keys(pictures)).not.toContain(imageTypeOfBase64(`%${data}`));
    }),
  );
});

test("[W8] a text, or a JSON, of a command over 1 MiB is too large, and so are images over 16 MiB; the field is named", () => {
  const limit = "x".repeat(textLimitBytes);
  const wide = "ä".repeat(textLimitBytes / 2);
  const approvalId = "apr_a_1";
  for (const [at, command] of [
    ["text", { type: "prompt", text: `${limit}x` }],
    ["text", { type: "prompt", text: `${wide}x` }],
    ["text", { type: "line", text: `${limit}x` }],
    ["instructions", { type: "compact", instructions: `${limit}x` }],
    ["message", { type: "answer", approvalId, allow: false, message: `${limit}x` }],
    ["input", { type: "answer", approvalId, allow: true, input: { a: limit } }],
    ["answers", { type: "answer", approvalId, allow: true, answers: { a: wide } }],
  ] as const)
    expect(refusedFor(command)).toMatchObject({ code: "too_large", at });
  expect(refusedFor({ type: "prompt", text: limit })).toBeUndefined();
  expect(refusedFor({ type: "prompt", text: wide })).toBeUndefined();
  const half = `iVBORw0KGgoA${"A".repeat(8 * 1_048_576)}`;
  expect(
    refusedFor({
      type: "prompt",
      text: "x",
      images: [half, half].map((data) => ({ mimeType: "image/png", data })),
    }),
  ).toMatchObject({ code: "too_large", at: "images.1.data" });
});

test("[W3] ids are counted in bytes and hold no control characters", () => {
  const ok = ["a", "ä".repeat(128), "schedule:daily:2026-11-30", "a/b", "日本"];
  const bad = ["", ".", "..", "a\nb", "a\u0000", "\u0085", "ä".repeat(129), "\ud800"];
  for (const id of ok) expect([id, SessionId.safeParse(id).success]).toEqual([id, true]);
  for (const id of bad) expect([id, RequestId.safeParse(id).success]).toEqual([id, false]);
});

test("[W4] canonical text does not depend on the order of members, and only on what is there", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const shuffled = JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
        member !== null && typeof member === "object" && !Array.isArray(member)
          ? Object.fromEntries(Object.entries(member).reverse())
          : member,
      ) as unknown;
      expect(canonicalJson(shuffled)).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
  expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}');
});

const entry = (seq: number, kind: string, data: Entry["data"]): Entry => ({
  seq,
  id: `ent_k_${seq}`,
  at: "2026-11-30T10:00:00.000Z",
  kind,
  data,
});

test("[W5] an unknown kind is kept as it came, a known one is checked", () => {
  const strange = entry(1, "weather.changed", { wind: [3, "bft"] });
  expect(parseEntry(structuredClone(strange))).toEqual(strange);
  expect(known(strange)).toBeUndefined();
  expect(() => parseEntry(entry(1, "line", { text: 7 }))).toThrow();
  expect(known(parseEntry(entry(1, "line", { text: "x" })))?.kind).toBe("line");
});

const empty: Baseline = {
  epoch: "e",
  head: 0,
  session: {
    session: "s",
    agent: "a",
    epoch: "e",
    state: "idle",
    head: 0,
    pending: 0,
    approvals: 0,
    turns: 0,
    usage: noUsage,
    createdAt: "2026-11-30T10:00:00.000Z",
    lastAt: "2026-11-30T10:00:00.000Z",
  },
  entries: [],
  more: false,
  pending: [],
  approvals: [],
  attention: [],
  projections: {},
};

test("[W6] a baseline keeps the newest entries within its bounds, and says that there are more", () => {
  let baseline = empty;
  for (let seq = 1; seq <= 300; seq++)
    baseline = foldBaseline(baseline, entry(seq, "line", { text: "x" }));
  expect(baseline.entries).toHaveLength(baselineEntries);
  expect([baseline.entries[0]?.seq, baseline.head, baseline.more]).toEqual([101, 300, true]);
  for (let seq = 301; seq <= 320; seq++)
    baseline = foldBaseline(baseline, entry(seq, "line", { text: "ä".repeat(100_000) }));
  expect(utf8Bytes(JSON.stringify(baseline.entries))).toBeLessThanOrEqual(baselineBytes + 1_000);
  expect(baseline.entries.at(-1)?.seq).toBe(320);
});

test("[W6] a text is never cut through a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(20), (text, units) => {
      const short = cut(text, units);
      expect(text.startsWith(short)).toBe(true);
      expect(short.isWellFormed()).toBe(text.slice(0, short.length).isWellFormed());
      if (text.isWellFormed()) expect(short.isWellFormed()).toBe(true);
    }),
  );
});

test("[W9] of a newer host's models what this version knows is kept, and levels that it does not know are left out", () => {
  const model = { model: "p/m", reasoning: ["off", "low", "beyond", 7], isReady: true, hue: "red" };
  expect(
    ModelPage.parse({ models: [model], default: "p/m", reasoning: "beyond", more: false }),
  ).toEqual({
    models: [{ model: "p/m", reasoning: ["off", "low"], isReady: true }],
    default: "p/m",
    more: false,
  });
  expect(
    ModelPage.safeParse({ models: [{ model: "p/m", reasoning: [] }], more: false }).success,
  ).toBe(false);
});
