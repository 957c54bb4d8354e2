// The operations of GitHub's whole document, as its connector lists them.

import { readFileSync } from "node:fs";
import type { JsonObject, Operation } from "@lichen/capability";
import { createOpenApiConnector } from "@lichen/capability/connectors";

const file = new URL(
  "../../../../node_modules/@octokit/openapi/generated/api.github.com.json",
  import.meta.url,
);

export async function githubOperations(): Promise<readonly Operation[]> {
  const connector = createOpenApiConnector({
    id: "github",
    namespace: "github",
    config: { spec: JSON.parse(readFileSync(file.pathname, "utf8")) as JsonObject },
    authKind: "none",
    resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
  });
  return connector.operations(new AbortController().signal);
}
