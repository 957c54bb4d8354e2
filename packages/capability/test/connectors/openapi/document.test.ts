// What a document becomes: operations with their names, words, labels and schemas.

import { readFileSync } from "node:fs";
import type { JsonObject, Operation } from "@lichen/capability";
import { createOpenApiConnector, createOpenApiRequestHandler } from "@lichen/capability/connectors";
import { expect, test } from "vitest";
import { documentOf, recording, withBody, withParameters } from "./garden.ts";
import { json, noAuth, openService, resolverOf, stage } from "./service.ts";

const never = new AbortController().signal;

function github(): JsonObject {
  const file = new URL(
    "../../../../../node_modules/@octokit/openapi/generated/api.github.com.json",
    import.meta.url,
  );
  return JSON.parse(readFileSync(file.pathname, "utf8")) as JsonObject;
}

async function operationOf(spec: JsonObject, name = "call"): Promise<Operation> {
  const operations = await recording(spec).connector.operations(never);
  return operations.find((operation) => operation.name === name)!;
}

test("[M40] GitHub's whole document becomes its operations, with what is shared between their schemas kept as definitions", async () => {
  const connector = createOpenApiConnector({
    id: "github",
    namespace: "github",
    config: { spec: github() },
    authKind: "none",
    resolver: noAuth(),
  });
  const operations = await connector.operations(never);
  expect(operations.length).toBeGreaterThan(1_000);
  expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  for (const { input, description } of operations) {
    expect(input["type"]).toBe("object");
    expect(description.length).toBeLessThan(1_100);
  }
  const issue = operations.find(({ name }) => name === "issues/get");
  expect(issue?.input["required"]).toEqual(["owner", "repo", "issue_number"]);
  expect(issue?.output).toMatchObject({
    $ref: "#/$defs/issue",
    $defs: { issue: {}, "nullable-milestone": {} },
  });
});

test("[M41] a request names a method, a path template and its values", async () => {
  await using service = await openService(({ method }) => json({ made: method === "POST" }));
  const resolver = resolverOf(() => ({
    kind: "header",
    headers: { authorization: "Bearer canary-one" },
  }));
  const handler = createOpenApiRequestHandler({
    connectionId: "github",
    config: { spec: github(), baseUrl: service.origin },
    authResolver: resolver,
    authKind: "header",
  });
  const params = { owner: "lichen", repo: "gar/den" };
  expect(await handler.request({ path: "/repos/{owner}/{repo}", params })).toEqual({ made: false });
  const path = "/repos/{owner}/{repo}/issues";
  const body = { title: "Frost" };
  expect(await handler.request({ method: "POST", path, params, body })).toEqual({ made: true });
  expect(service.received).toMatchObject([
    { target: "/repos/lichen/gar%2Fden", headers: { authorization: "Bearer canary-one" } },
    { method: "POST", target: "/repos/lichen/gar%2Fden/issues" },
  ]);
  expect(JSON.parse(service.received[1]!.body.toString())).toEqual(body);
  expect(resolver.asked()).toBe(2);
  await expect(handler.request({ path: "/repos/{owner}/{rep}", params })).rejects.toMatchObject({
    code: "unknown_operation",
    message: expect.stringContaining('Did you mean "/repos/{owner}/{repo}"?'),
  });
});

test("[M42] a schema that mentions itself stays a definition that mentions itself, and is held to at every depth", async () => {
  const components = {
    schemas: {
      Tree: {
        type: "object",
        properties: {
          name: { type: "string" },
          branches: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        },
        required: ["name"],
      },
    },
  };
  const spec = withBody(
    { "application/json": { schema: { $ref: "#/components/schemas/Tree" } } },
    components,
  );
  const { input } = await operationOf(spec);
  expect(input).toMatchObject({
    properties: { body: { $ref: "#/$defs/Tree" } },
    required: ["body"],
    $defs: { Tree: { properties: { branches: { items: { $ref: "#/$defs/Tree" } } } } },
  });
  const { connector, sent } = recording(spec);
  const { context } = stage(noAuth(), "garden");
  await connector.call("call", { body: { name: "oak", branches: [{ name: "low" }] } }, context);
  await expect(
    connector.call("call", { body: { name: "oak", branches: [{ branches: [] }] } }, context),
  ).rejects.toMatchObject({
    code: "invalid_input",
    message: /"body"\.branches\[0\]\.name is missing/,
  });
  expect(sent).toHaveLength(1);
});

test("[M42] what a document only points to elsewhere is never fetched: a schema is left open, a parameter leaves its operation out", async () => {
  const elsewhere = { $ref: "https://evil.example/schemas.json#/Bed" };
  const { connector, sent } = recording(
    documentOf({
      paths: {
        "/a": {
          post: {
            operationId: "open",
            requestBody: { content: { "application/json": { schema: elsewhere } } },
          },
        },
        "/b": { get: { operationId: "closed", parameters: [elsewhere] } },
        "/c": {
          get: { operationId: "round", parameters: [{ $ref: "#/components/parameters/A" }] },
        },
      },
      components: {
        parameters: {
          A: { $ref: "#/components/parameters/B" },
          B: { $ref: "#/components/parameters/A" },
        },
      },
    }),
  );
  const { context } = stage(noAuth(), "garden");
  expect((await connector.operations(never)).map(({ name }) => name)).toEqual(["open"]);
  await connector.call("open", { body: { anything: 1 } }, context);
  await expect(connector.call("closed", {}, context)).rejects.toMatchObject({
    code: "unknown_operation",
    message: expect.stringContaining("in another document"),
  });
  await expect(connector.call("round", {}, context)).rejects.toThrow("round in circles");
  expect(sent).toHaveLength(1);
});

test("[M42] a schema in the words of 3.0 means the same in today's, and read-only members need not be sent", async () => {
  const components = {
    schemas: {
      Bed: {
        type: "object",
        required: ["id", "name"],
        properties: {
          id: { type: "integer", readOnly: true },
          name: { type: "string", nullable: true },
          kind: { type: "string", enum: ["herb", "rose"], nullable: true },
          size: { type: "number", minimum: 0, exclusiveMinimum: true },
          owner: { nullable: true, allOf: [{ $ref: "#/components/schemas/Owner" }] },
        },
      },
      Owner: { type: "object" },
    },
  };
  const body = { "application/json": { schema: { $ref: "#/components/schemas/Bed" } } };
  const spec = { ...withBody(body, components), openapi: "3.0.3" };
  const { input } = await operationOf(spec);
  expect(input["$defs"]).toMatchObject({
    Bed: {
      required: ["name"],
      properties: {
        name: { type: ["string", "null"] },
        kind: { type: ["string", "null"], enum: ["herb", "rose", null] },
        size: { type: "number", exclusiveMinimum: 0 },
        owner: { anyOf: [{ allOf: [{ $ref: "#/$defs/Owner" }] }, { type: "null" }] },
      },
    },
  });
  const { connector } = recording(spec);
  const { context } = stage(noAuth(), "garden");
  const good = { name: null, kind: null, size: 0.1, owner: null };
  await connector.call("call", { body: good }, context);
  await expect(connector.call("call", { body: { ...good, size: 0 } }, context)).rejects.toThrow(
    '"body".size must be more than 0; it is 0.',
  );
});

test("[M43] every operation of a service is a write; its owner may say that the safe methods are reads", async () => {
  const paths = {
    "/a": Object.fromEntries(
      ["get", "head", "options", "post", "put", "patch", "delete"].map((method) => [
        method,
        { operationId: method, "x-label": "read", responses: {} },
      ]),
    ),
  };
  const labels = async (config: JsonObject) => {
    const operations = await recording(documentOf({ paths }), { config }).connector.operations(
      never,
    );
    return operations.filter(({ label }) => label === "read").map(({ name }) => name);
  };
  expect(await labels({})).toEqual([]);
  expect(await labels({ safeMethods: "read" })).toEqual(["get", "head", "options"]);
});

test("[M40] a name that is no plain member, and a media type that no header holds, break nothing", async () => {
  const schema = { type: "object", properties: { a: { $ref: "#/components/schemas/__proto__" } } };
  const spec = documentOf({
    paths: {
      "/a": {
        post: {
          operationId: "call",
          parameters: [{ name: "__proto__", in: "query", required: true, schema: {} }],
          requestBody: { content: { "application/json": { schema } } },
        },
      },
      "/b": { post: { operationId: "odd", requestBody: { content: { "text/\u0001x": {} } } } },
    },
    components: JSON.parse(
      '{"schemas":{"__proto__":{"type":"object","properties":{"b":{"$ref":"#/components/schemas/__proto__"}}}}}',
    ) as JsonObject,
  });
  const { connector, sent } = recording(spec);
  const [only, ...others] = await connector.operations(never);
  expect(others).toEqual([]);
  expect(only?.input).toMatchObject({
    required: ["query___proto__"],
    $defs: { schema: { properties: { b: { $ref: "#/$defs/schema" } } } },
  });
  await connector.call("call", { query___proto__: "x" }, stage(noAuth(), "garden").context);
  expect(sent[0]?.url.search).toBe("?__proto__=x");
});

test("[M44] no pattern of a document holds the host up, however it is built", async () => {
  const patterns = [
    `^${"a?".repeat(60)}${"a".repeat(60)}$`,
    `^${"a{0,50}".repeat(25)}b$`,
    `^${"(a|aa)".repeat(30)}b$`,
    `^${"(?:a|aa)".repeat(22)}b$`,
    "^a*a*a*a*b$",
  ];
  for (const pattern of patterns) {
    const parameter = { name: "q", in: "query", schema: { type: "string", pattern } };
    const { connector, sent } = recording(withParameters("/beds", [parameter]));
    const { context } = stage(noAuth(), "garden");
    // Left to the server.
    await connector.call("call", { q: "a".repeat(60) }, context);
    expect(sent).toHaveLength(1);
  }
});

test("[M44] what several places call by one name is told apart in the input, and the path's keeps its name", async () => {
  const spec = withParameters("/beds/{id}", [
    { name: "id", in: "header", schema: { type: "string" } },
    { name: "id", in: "query", schema: { type: "string" } },
    { name: "id", in: "path", required: true, schema: { type: "string" } },
    { name: "body", in: "query", schema: { type: "string" } },
  ]);
  const { input } = await operationOf(spec);
  expect(Object.keys(input["properties"] as JsonObject)).toEqual([
    "id",
    "query_id",
    "query_body",
    "header_id",
  ]);
  const { connector, sent } = recording(spec);
  const { context } = stage(noAuth(), "garden");
  await connector.call(
    "call",
    { id: "a", query_id: "b", query_body: "c", header_id: "d" },
    context,
  );
  expect(sent[0]!.url.href).toBe("https://garden.example/api/beds/a?id=b&body=c");
  expect(new Headers(sent[0]!.init.headers).get("id")).toBe("d");
});

test("[M44] nothing is sent of an input that does not fit: unknown, missing, of another type, out of its bounds", async () => {
  const spec = withParameters("/beds/{bed}", [
    { name: "bed", in: "path", required: true, schema: { type: "string", minLength: 2 } },
    { name: "page", in: "query", schema: { type: "integer", minimum: 1 } },
    { name: "sort", in: "query", schema: { enum: ["name", "size"] } },
    {
      name: "tags",
      in: "query",
      schema: { type: "array", items: { type: "string" }, maxItems: 2 },
    },
    { name: "code", in: "query", schema: { type: "string", pattern: "^[a-z]+$" } },
    { name: "slow", in: "query", schema: { type: "string", pattern: "^(a+)+$" } },
  ]);
  const { connector, sent } = recording(spec);
  const { context } = stage(noAuth(), "garden");
  for (const [input, words] of [
    [{ bed: "aa", pgae: 1 }, '"pgae" is not known. Did you mean "page"?'],
    [{ page: 1 }, '"bed" is missing.'],
    [{ bed: 7 }, '"bed" must be text, not 7.'],
    [{ bed: "a" }, '"bed" has 1 characters; it needs at least 2.'],
    [{ bed: "aa", page: "1" }, '"page" must be a whole number, not "1".'],
    [{ bed: "aa", page: 0 }, '"page" must be at least 1; it is 0.'],
    [{ bed: "aa", sort: "age" }, '"sort" must be one of "name", "size"; it is "age".'],
    [{ bed: "aa", tags: ["a", 1] }, '"tags"[1] must be text, not 1.'],
    [{ bed: "aa", tags: ["a", "b", "c"] }, '"tags" has 3 items; at most 2 are allowed.'],
    [{ bed: "aa", code: "A" }, '"code" must match ^[a-z]+$; it is "A".'],
  ] as const)
    await expect(connector.call("call", input, context)).rejects.toMatchObject({
      code: "invalid_input",
      message: `call was not called: ${words}`,
    });
  expect(sent).toEqual([]);
  // A pattern that could take for ever is left to the server.
  await connector.call("call", { bed: "aa", slow: `${"a".repeat(40)}!` }, context);
  expect(sent).toHaveLength(1);
});

test("[M44] a schema that spreads without end is given up on, not followed for ever", async () => {
  const both = { anyOf: [{ $ref: "#/components/schemas/A" }, { $ref: "#/components/schemas/A" }] };
  const spec = withBody(
    { "application/json": { schema: { $ref: "#/components/schemas/A" } } },
    { schemas: { A: { allOf: [both, both] } } },
  );
  const { connector } = recording(spec);
  await connector.call("call", { body: 1 }, stage(noAuth(), "garden").context).catch(String);
});

test.each([
  [{ swagger: "2.0", paths: {} }, "Swagger 2.0"],
  [{ openapi: "4.0.0", paths: {} }, "no version 3.0 or 3.1"],
  [{}, "no version 3.0 or 3.1"],
])("[M40] a document of another kind is refused: %j", async (spec, words) => {
  await expect(recording(spec).connector.operations(never)).rejects.toMatchObject({
    code: "bad_document",
    message: expect.stringContaining(words),
  });
});

test("[M40] an operation without an id of its own is called by its method and path", async () => {
  const spec = documentOf({
    paths: {
      "/beds/{id}": {
        parameters: [{ name: "id", in: "path", required: true }],
        get: {},
        put: { operationId: "twice" },
        delete: { operationId: "twice" },
      },
      "/beds": {
        get: {
          operationId: "list",
          deprecated: true,
          summary: "All beds",
          description: "x".repeat(5_000),
        },
      },
    },
  });
  const operations = await recording(spec).connector.operations(never);
  expect(operations.map(({ name }) => name)).toEqual([
    "get_beds_id",
    "put_beds_id",
    "delete_beds_id",
    "list",
  ]);
  expect(operations[3]!.description).toMatch(/^Deprecated\. All beds\. x+… \(GET \/beds\)$/);
  expect(operations[3]!.description.length).toBeLessThan(700);
});
