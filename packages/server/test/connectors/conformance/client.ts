// What the conformance kit runs as "the client": does with a scenario's server what an agent would, through our
// connector. It is told the scenario by the kit's environment and the server's address by its last argument.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AuthConfig,
  type CallContext,
  type Connector,
  type JsonObject,
  OperationError,
} from "@lichen/capability";
import { createMcpConnector } from "@lichen/capability/connectors";
import { openAuth } from "../../../src/auth/host/index.ts";
import { mcpSdk } from "../../../src/connectors/host/mcp-on-node.ts";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const protocol = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"];
const given: unknown = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const url = process.argv.at(-1) ?? "";

const leavesOut = scenario.startsWith("elicitation");

const signal = AbortSignal.timeout(50_000);
const home = await mkdtemp(join(tmpdir(), "lichen-conformance-"));
const issuer = scenario === "auth/client-credentials-basic" ? await issuerOf(url) : undefined;
const auth = await openAuth({
  path: join(home, "credentials.db"),
  agentId: "conformance",
  env: { CLIENT_SECRET: textIn("client_secret") },
  configOf: () => ({ auth: authConfig(), resource: url, name: "conformance" }),
});
const connector = createMcpConnector({
  id: "conformance",
  namespace: "conformance",
  config: { url },
  sdk: await mcpSdk({ folder: home, path: process.env["PATH"] ?? "" }),
  resolver: auth.resolver,
  options: protocol === "2025-11-25" ? { protocol } : {},
});

try {
  await signedIn(() => play(connector));
} finally {
  await connector.close?.();
  await auth.close();
  await rm(home, { recursive: true });
}

function authConfig(): AuthConfig {
  if (!scenario.startsWith("auth/")) return { type: "none" };
  const clientId = textIn("client_id");
  if (issuer !== undefined && clientId !== undefined)
    return { type: "client_credentials", issuer, clientId, clientSecret: "CLIENT_SECRET" };
  return {
    type: "oauth",
    ...(clientId === undefined ? {} : { clientId }),
    ...(textIn("client_secret") === undefined ? {} : { clientSecret: "CLIENT_SECRET" }),
  };
}

/** Does what a person does who is told to sign in, and to sign in again for more: at most three times. */
async function signedIn(work: () => Promise<void>): Promise<void> {
  for (let times = 0; ; times++) {
    try {
      return await work();
    } catch (error) {
      const isAuth =
        error instanceof OperationError && /^(?:auth_|token_|refresh_)/.test(error.code);
      if (!isAuth || times === 3) throw error;
      const wanted = /the scopes "([^"]*)"/.exec(error.message)?.[1]?.split(" ");
      const had = (await auth.state("conformance"))?.scopes ?? [];
      const scopes = wanted && [...new Set([...had, ...wanted])];
      await auth.signIn("conformance", {
        signal,
        ...(scopes ? { scopes } : {}),
        open: async (page) => void (await fetch(page)),
      });
    }
  }
}

/** Who set the client up knows which server it was; the kit says so in the resource's metadata alone. */
async function issuerOf(resource: string): Promise<string> {
  const { origin, pathname } = new URL(resource);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const told: unknown = await response.json();
  return String(Object(told).authorization_servers[0]);
}

function textIn(name: string): string | undefined {
  const value: unknown = Object(given)[name];
  return typeof value === "string" ? value : undefined;
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
