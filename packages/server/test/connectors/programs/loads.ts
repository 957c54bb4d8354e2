// Says whether the SDK is loaded before and after the first connector of the `mcp` kind is made.

import { registerHooks } from "node:module";

let isLoaded = false;
registerHooks({
  load(url, context, next) {
    if (url.includes("@modelcontextprotocol")) isLoaded = true;
    return next(url, context);
  },
});

const { mcpOnNode } = await import("../../../src/connectors/host/mcp-on-node.ts");
const factory = mcpOnNode({ folder: process.cwd(), path: process.env["PATH"] ?? "" });
await factory.check?.({ url: "http://127.0.0.1:1/" });
const before = isLoaded;
await factory.create(
  {
    id: "a",
    kind: "mcp",
    namespace: "a",
    description: "",
    auth: { type: "none" },
    config: { url: "http://127.0.0.1:1/" },
  },
  { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
);
console.log(JSON.stringify({ before, after: isLoaded }));
