// Where a document comes from, and what a config may say.

import type { Json } from "@lichen/capability";
import { createOpenApiConnector } from "@lichen/capability/connectors";
import { expect, test } from "vitest";
import { bearer, connect, documentOf, errorOf, garden, recording } from "./garden.ts";
import { json, noAuth, openService, resolverOf, stage } from "./service.ts";

const canary = "canary-5f1c9e2b7a";
const yaml = "openapi: 3.1.0";

test("[M55] a document is read from an address, from a file the host can read, or as it stands; YAML by the host's reader", async () => {
  await using service = await openService(({ target }) => {
    if (target === "/moved.json") return { status: 301, headers: { location: "/openapi.json" } };
    return target === "/openapi.json" ? json(garden) : json({ here: true });
  });
  const { context } = stage(noAuth(), "garden");
  const open = (spec: Json) => {
    const read: string[] = [];
    const connector = createOpenApiConnector({
      id: "garden",
      namespace: "garden",
      config: { spec, baseUrl: service.origin },
      authKind: "none",
      resolver: noAuth(),
      readSpec(path) {
        read.push(path);
        if (path.endsWith(".txt")) return Promise.reject(new Error(`ENOENT /home/me/${path}`));
        return Promise.resolve(path.endsWith(".json") ? JSON.stringify(garden) : yaml);
      },
      parseYaml: (text) => (text === yaml ? garden : undefined),
    });
    return { call: () => connector.call("list", {}, context), read };
  };
  for (const spec of [`${service.origin}/moved.json`, "apis/garden.json", "garden.yaml", garden])
    expect(await open(spec).call()).toEqual({ here: true });
  const file = open("apis/garden.json");
  await Promise.all([file.call(), file.call(), file.call()]);
  expect(file.read).toEqual(["apis/garden.json"]);
  const missing = await errorOf(open("missing.txt").call());
  expect(missing.message).toBe(
    "The OpenAPI document missing.txt cannot be read. Check that it is there.",
  );
});

test("[M55] a document that could not be read is read again at the next call, and auth goes to it only where it is asked for", async () => {
  let isUp = false;
  await using service = await openService(({ target, headers }) => {
    if (target !== "/openapi.json") return json({ here: true });
    if (!isUp) return { status: 503 };
    return headers.authorization === `Bearer ${canary}` ? json(garden) : { status: 401 };
  });
  const { call } = connect(service.origin, {
    spec: `${service.origin}/openapi.json`,
    authKind: "header",
    resolver: resolverOf(() => bearer(canary)),
  });
  expect((await errorOf(call("list"))).code).toBe("http_503");
  isUp = true;
  expect(await call("list")).toEqual({ here: true });
  expect(
    service.received.map(({ target, headers }) => [target, "authorization" in headers]),
  ).toEqual([
    ["/openapi.json", false],
    ["/openapi.json", false],
    ["/openapi.json", true],
    ["/beds", true],
  ]);

  await using public_ = await openService(() => ({ status: 401 }));
  const elsewhere = connect(service.origin, {
    spec: `${public_.origin}/openapi.json`,
    authKind: "header",
    resolver: resolverOf(() => bearer(canary)),
  });
  expect((await errorOf(elsewhere.call("list"))).code).toBe("http_401");
  expect(public_.received.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test.each([
  [undefined, "not an object"],
  [{}, '"spec" must be'],
  [{ spec: "a", sepc: 1 }, '"sepc" is not a key of it. Did you mean "spec"?'],
  [{ spec: "a", baseUrl: "ftp://x" }, '"baseUrl" must be an address'],
  [{ spec: "a", baseUrl: "https://me:pass@x.example" }, "no user name and password"],
  [{ spec: "a", safeMethods: true }, '"safeMethods" can only be "read"'],
  [{ spec: "a", timeoutMs: 0 }, '"timeoutMs" must be'],
] as const)("[M55] a config that says %j is refused", (config, words) => {
  const open = () =>
    createOpenApiConnector({
      id: "a",
      namespace: "a",
      config,
      authKind: "none",
      resolver: noAuth(),
    });
  expect(open).toThrow(
    expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(words) }),
  );
});

test("[M55] a document is capped, and what is no document is refused with a reason", async () => {
  const open = (text: string) =>
    recording({}, { config: { spec: "garden.json" }, readSpec: () => Promise.resolve(text) });
  const operations = (text: string) =>
    errorOf(open(text).connector.operations(new AbortController().signal));
  expect((await operations("{")).message).toContain("garden.json is no JSON");
  expect((await operations("a: b")).message).toContain("nothing here reads YAML");
  expect((await operations(`{"a":"${"x".repeat(33 * 1_024 * 1_024)}"}`)).message).toContain(
    "larger than",
  );
  const paths = Object.fromEntries(
    Array.from({ length: 5_001 }, (_, at) => [`/p${at}`, { get: {} }]),
  );
  expect((await operations(JSON.stringify(documentOf({ paths })))).message).toContain(
    "more than 5000 operations",
  );
});
