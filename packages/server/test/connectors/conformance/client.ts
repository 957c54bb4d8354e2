// What the conformance kit runs as "the client": does with a scenario's server what an agent would, through our
// connector. It is told the scenario by the kit's environment and the server's address by its last argument.

import type { CallContext, Connector, JsonObject } from "@lichen/capability";
import { createMcpConnector } from "@lichen/capability/connectors";
import { mcpSdk } from "../../../src/connectors/host/mcp-on-node.ts";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const protocol = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"];
const given: unknown = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const url = process.argv.at(-1) ?? "";

const leavesOut = scenario.startsWith("elicitation");

const signal = AbortSignal.timeout(20_000);
const connector = createMcpConnector({
  id: "conformance",
  namespace: "conformance",
  config: { url },
  sdk: await mcpSdk({ folder: process.cwd(), path: process.env["PATH"] ?? "" }),
  resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
  options: protocol === "2025-11-25" ? { protocol } : {},
});

try {
  await play(connector);
} finally {
  await connector.close?.();
}

async function play(server: Connector): Promise<void> {
  const operations = await server.operations(signal);
  const names = operations.map(({ name }) => name);
  const call = (name: string, input: JsonObject) => server.call(name, input, context());
  if (scenario === "http-custom-headers") {
    for (const { name, arguments: input } of callsIn(given)) await call(name, input);
    return;
  }
  if (scenario === "json-schema-2020-12-preservation") {
    const [focal] = operations;
    const echo = names.find((name) => name.includes("echo")) ?? names[1] ?? "";
    await call(echo, { schema: focal?.input ?? {} });
    return;
  }
  // Calls of one program are made at the same time where they can be.
  if (scenario === "sep-2322-client-request-state") {
    await Promise.all(names.map((name) => call(name, {})));
    return;
  }
  for (const { name, input } of operations) await call(name, sample(input));
}

function context(): CallContext {
  return {
    signal,
    resolve: async () => ({ ok: true, auth: { kind: "none" } }),
    image: ({ mediaType, bytes }) => ({ image: 0, mediaType, bytes: bytes.length }),
    progress: () => {},
    display: () => {},
    // Somebody who lets it go on and fills nothing in but what can only be said.
    ask: async (questions) =>
      Object.fromEntries(
        questions.flatMap(({ question, options }) =>
          typeof question !== "string" || !Array.isArray(options) || leavesOut
            ? []
            : [[question, "Yes"]],
        ),
      ),
  };
}

/** An input with something in each member that must be there. */
function sample(schema: JsonObject): JsonObject {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const properties = Object(schema["properties"]);
  return Object.fromEntries(
    required.map((name: string) => [name, properties[name]?.type === "string" ? "text" : 1]),
  );
}

function callsIn(told: unknown): { name: string; arguments: JsonObject }[] {
  return Object(told).toolCalls ?? [];
}
