// The `mcp` kind: makes connectors of its rows.

import type { CapabilityFactory } from "../../registry/factory.ts";
import { parseMcpConfig } from "./config.ts";
import type { McpOptions } from "./connection.ts";
import { createMcpConnector } from "./connector.ts";
import type { McpSdk } from "./sdk.ts";

/** Its connectors load the SDK by `sdk` when the first of them is made. */
export function mcpFactory(
  sdk: McpSdk | (() => Promise<McpSdk>),
  options: McpOptions = {},
): CapabilityFactory {
  return {
    kind: "mcp",
    check(config) {
      parseMcpConfig(config);
      return config;
    },
    async create({ id, namespace, description, config }, resolver) {
      return createMcpConnector({
        id,
        namespace,
        config,
        resolver,
        options,
        sdk: typeof sdk === "function" ? await sdk() : sdk,
        ...(description === "" ? {} : { description }),
      });
    },
  };
}
