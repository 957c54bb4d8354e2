// What a document becomes: operations with their names, words, labels and schemas.

import { readFileSync } from "node:fs";
import type { JsonObject } from "@lichen/capability";
import { createOpenApiConnector, createOpenApiRequestHandler } from "@lichen/capability/connectors";
import { expect, test } from "vitest";
import { json, noAuth, openService, resolverOf } from "./service.ts";

const never = new AbortController().signal;

function github(): JsonObject {
  const file = new URL(
    "../../../../../node_modules/@octokit/openapi/generated/api.github.com.json",
    import.meta.url,
  );
  return JSON.parse(readFileSync(file, "utf8")) as JsonObject;
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
    $defs: { issue: {}, milestone: {} },
  });
});

test("[M41] a request names a method, a path template and its values", async () => {
  await using service = await openService(() => json({ full_name: "lichen/garden" }));
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
  expect(
    await handler.request({
      path: "/repos/{owner}/{repo}",
      params: { owner: "lichen", repo: "gar/den" },
    }),
  ).toEqual({ full_name: "lichen/garden" });
  expect(service.received).toMatchObject([
    {
      method: "GET",
      target: "/repos/lichen/gar%2Fden",
      headers: { authorization: "Bearer canary-one" },
    },
  ]);
});
