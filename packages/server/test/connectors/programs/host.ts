// A process that opens a connection to the program of its arguments and tells its id, for a test that kills it.

import { createMcpConnector } from "@lichen/capability/connectors";
import { mcpSdk } from "../../../src/connectors/host/mcp-on-node.ts";

const [, , command = "", script = ""] = process.argv;
const server = createMcpConnector({
  id: "test",
  namespace: "test",
  config: { command, args: [script] },
  resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
  sdk: await mcpSdk({ folder: process.cwd(), path: process.env["PATH"] ?? "", home: () => "/" }),
});
const answer = await server.call(
  "pid",
  {},
  {
    signal: AbortSignal.timeout(20_000),
    resolve: async () => ({ ok: true, auth: { kind: "none" } }),
    image: () => ({ image: 0, mediaType: "", bytes: 0 }),
    progress: () => {},
    display: () => {},
  },
);
console.log(String(answer));
