// How values are written: whatever they are, what is sent reads back as what was given, at the operation's own path.

import type { Json, JsonObject } from "@lichen/capability";
import fc from "fast-check";
import { expect, test } from "vitest";
import { recording, withParameters } from "./garden.ts";
import { noAuth, stage } from "./service.ts";

const scalar = fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.integer(), fc.boolean());
const tricky = fc.constantFrom(
  ...[
    "..",
    ".",
    "../..",
    "a/../b",
    "%2e%2e",
    "%2E.",
    "..%2f",
    "..\\x",
    "/",
    "//evil.example",
    "\\\\evil",
    "@evil.example",
  ],
  ...[
    "?x=1",
    "#frag",
    "a;b=c",
    "a,b",
    "a&b=c",
    "a b",
    "a+b",
    "%",
    "%zz",
    "\u0000",
    "\r\nx: y",
    ":80",
    "[::1]",
  ],
);
const texts = fc.oneof(
  tricky,
  fc.string({ unit: "binary", minLength: 1 }),
  fc.string({ unit: "grapheme", minLength: 1 }),
);

async function send(spec: JsonObject, input: JsonObject): Promise<URL | string> {
  const { connector, sent, resolver } = recording(spec);
  try {
    await connector.call("call", input, stage(resolver, "garden").context);
  } catch (error) {
    expect(error).toMatchObject({ name: "OperationError", code: "invalid_input" });
    expect(sent).toEqual([]);
    return String(error);
  }
  return sent[0]!.url;
}

const anyValue = { schema: {} };

test("[M46] no value of a path leads to another path or another origin: it is one segment that decodes to the value, or it is refused", async () => {
  const spec = withParameters("/beds/{bed}/plants/{plant}.json", [
    { name: "bed", in: "path", required: true, ...anyValue },
    { name: "plant", in: "path", required: true, ...anyValue },
  ]);
  await fc.assert(
    fc.asyncProperty(texts, texts, async (bed, plant) => {
      const url = await send(spec, { bed, plant });
      if (typeof url === "string") return;
      expect(url.origin).toBe("https://garden.example");
      expect(url.search + url.hash).toBe("");
      const segments = url.pathname.split("/");
      expect(segments.map(decodeURIComponent)).toEqual([
        "",
        "api",
        "beds",
        bed,
        "plants",
        `${plant}.json`,
      ]);
    }),
    { numRuns: 500 },
  );
  for (const bed of ["..", ".", "../x", "a/..", "a/./b", "%2e%2e", ".%2E", "..%2fx", "..\\x", ""])
    expect(await send(spec, { bed, plant: "rose" })).toContain('"bed" cannot be sent');
  expect(
    await send(
      withParameters(
        "/{a}{b}",
        ["a", "b"].map((name) => ({ name, in: "path" })),
      ),
      { a: ".", b: "x" },
    ),
  ).toContain("cannot be sent");
});

test("[M45] a query reads back as what was given, in each of its styles", async () => {
  const cases = [
    { style: "form", explode: true },
    { style: "form", explode: false },
    { style: "spaceDelimited", explode: false },
    { style: "pipeDelimited", explode: false },
    { style: "form", explode: true, allowReserved: true },
    { style: "form", explode: false, allowReserved: true },
  ];
  const value = fc.oneof(texts, scalar, fc.array(texts, { minLength: 1, maxLength: 4 }));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...cases), value, texts, async (how, given, other) => {
      const spec = withParameters("/beds", [
        { name: "q[x]", in: "query", ...how, ...anyValue },
        { name: "other", in: "query", ...anyValue },
      ]);
      const url = await send(spec, { "q[x]": given, other });
      if (typeof url === "string") {
        // Items that hold the sign which tells items apart.
        expect(how.style).toMatch(/Delimited/);
        return;
      }
      expect(url.href).toMatch(/^https:\/\/garden\.example\/api\/beds\?/);
      const raw = url.search
        .slice(1)
        .split("&")
        .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
      const mine = raw
        .filter(([key]) => decodeURIComponent(key!) === "q[x]")
        .map(([, text]) => text!);
      expect(
        raw.filter(([key]) => key === "other").map(([, text]) => decodeURIComponent(text!)),
      ).toEqual([other]);
      expect(raw).toHaveLength(mine.length + 1);
      if (!Array.isArray(given)) {
        expect(mine.map(decodeURIComponent)).toEqual([`${given}`]);
        return;
      }
      const delimiter =
        how.style === "spaceDelimited" ? "%20" : how.style === "pipeDelimited" ? "%7C" : ",";
      const parts = how.explode ? mine : mine[0]!.split(delimiter);
      expect(parts.map(decodeURIComponent)).toEqual(given);
    }),
    { numRuns: 500 },
  );
});

test("[M45] a deep object reads back from its brackets, and an exploded one from its names", async () => {
  const names = fc
    .string({ unit: "grapheme-ascii", minLength: 1 })
    .filter((name) => !/[[\]]/.test(name));
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(names, texts, { minKeys: 1, noNullPrototype: true }),
      async (given) => {
        const deep = await send(
          withParameters("/beds", [
            { name: "q", in: "query", style: "deepObject", explode: true, ...anyValue },
          ]),
          { q: given },
        );
        if (typeof deep === "string") throw new Error(deep);
        const read = deep.search
          .slice(1)
          .split("&")
          .map((pair) => pair.split("=").map(decodeURIComponent));
        expect(
          Object.fromEntries(read.map(([key, text]) => [/^q\[(.*)\]$/s.exec(key!)![1], text])),
        ).toEqual(given);
        const flat = await send(
          withParameters("/beds", [{ name: "q", in: "query", ...anyValue }]),
          { q: given },
        );
        if (typeof flat === "string") throw new Error(flat);
        expect([
          ...flat.search
            .slice(1)
            .split("&")
            .map((pair) => pair.split("=").map(decodeURIComponent)),
        ]).toEqual(Object.entries(given));
      },
    ),
    { numRuns: 200 },
  );
  const collides = withParameters("/beds", [
    { name: "q", in: "query", ...anyValue },
    { name: "page", in: "query", ...anyValue },
  ]);
  expect(await send(collides, { q: { page: "2" }, page: 1 })).toContain(
    'that of the parameter "q"',
  );
});

test("[M45] a header holds exactly what was given, or it is refused: no value begins another header", async () => {
  const spec = withParameters("/beds", [{ name: "X-Bed", in: "header", ...anyValue }]);
  await fc.assert(
    fc.asyncProperty(texts, async (value) => {
      const { connector, sent, resolver } = recording(spec);
      const call = connector.call("call", { "X-Bed": value }, stage(resolver, "garden").context);
      const isPlain = /^[\t\u0020-\u007e\u00a0-\u00ff]*$/.test(value) && value.trim() === value;
      if (!isPlain) {
        await expect(call).rejects.toMatchObject({ code: "invalid_input" });
        return;
      }
      await call;
      expect(new Headers(sent[0]!.init.headers).get("x-bed")).toBe(value);
    }),
    { numRuns: 300 },
  );
});

test("[M45] a cookie reads back as what was given, and no value begins another cookie", async () => {
  const spec = withParameters("/beds", [{ name: "bed", in: "cookie", ...anyValue }]);
  await fc.assert(
    fc.asyncProperty(fc.oneof(texts, fc.array(texts, { minLength: 1 })), async (value) => {
      const { connector, sent, resolver } = recording(spec);
      await connector.call("call", { bed: value }, stage(resolver, "garden").context);
      const cookies = new Headers(sent[0]!.init.headers).get("cookie")!.split("; ");
      expect(cookies.map((cookie) => decodeURIComponent(cookie.replace(/^bed=/, "")))).toEqual(
        [value].flat(),
      );
    }),
    { numRuns: 200 },
  );
});

test("[M45] no member of one cookie stands in for another one, and a header is one however it is written", async () => {
  const spec = withParameters("/beds", [
    { name: "own", in: "cookie", ...anyValue },
    { name: "prefs", in: "cookie", explode: true, ...anyValue },
    { name: "X-Bed", in: "header", ...anyValue },
    { name: "x-bed", in: "header", ...anyValue },
  ]);
  expect(await send(spec, { own: "1", prefs: { own: "2" } })).toContain("cannot be sent");
  expect(await send(spec, { own: "1", prefs: { other: "2" } })).toBeInstanceOf(URL);
  expect(await send(spec, { "X-Bed": "1" })).toContain('"X-Bed" is not known');
  expect(await send(spec, { "x-bed": "1" })).toBeInstanceOf(URL);
});

test.each([
  ["simple", false, ["3", "4"], "/3,4"],
  ["simple", true, { x: 1, y: "a" }, "/x=1,y=a"],
  ["simple", false, { x: 1, y: "a" }, "/x,1,y,a"],
  ["label", false, "blue", "/.blue"],
  ["label", true, ["a", "b.c"], "/.a.b%2Ec"],
  ["label", true, { x: "1.5" }, "/.x=1%2E5"],
  ["matrix", false, "blue", "/;p=blue"],
  ["matrix", false, ["a", "b"], "/;p=a,b"],
  ["matrix", true, ["a", "b"], "/;p=a;p=b"],
  ["matrix", true, { x: 1, y: 2 }, "/;x=1;y=2"],
  ["matrix", false, { x: 1, y: 2 }, "/;p=x,1,y,2"],
] as const)(
  "[M45] a path in the style %s (explode %s) has %j as %s",
  async (style, explode, value, path) => {
    const spec = withParameters("/{p}", [
      { name: "p", in: "path", required: true, style, explode, ...anyValue },
    ]);
    const url = await send(spec, { p: value as Json });
    expect(typeof url === "string" ? url : url.pathname).toBe(`/api${path}`);
  },
);

test("[M45] a parameter whose content is JSON is written as JSON, wherever it stands", async () => {
  const content = { "application/json": { schema: { type: "object" } } };
  const places = ["query", "header", "cookie"] as const;
  const { connector, sent } = recording(
    withParameters(
      "/beds",
      places.map((place) => ({ name: place, in: place, content })),
    ),
  );
  const value = { a: [1, { b: "x y" }] };
  await connector.call(
    "call",
    { query: value, header: value, cookie: value },
    stage(noAuth(), "garden").context,
  );
  const headers = new Headers(sent[0]!.init.headers);
  expect(JSON.parse(sent[0]!.url.searchParams.get("query")!)).toEqual(value);
  expect(JSON.parse(headers.get("header")!)).toEqual(value);
  expect(JSON.parse(decodeURIComponent(headers.get("cookie")!.slice("cookie=".length)))).toEqual(
    value,
  );
});
