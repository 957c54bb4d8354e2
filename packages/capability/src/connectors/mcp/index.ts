export { mcpFactory } from "./factory.ts";
export { type McpConfig, parseMcpConfig } from "./config.ts";
export { type McpOptions, setupMcpConnection } from "./connection.ts";
export { createMcpConnector, type McpConnectorOptions } from "./connector.ts";
export type { SecretSource } from "./program.ts";
export { malformedCode } from "./trouble.ts";
export type { McpSdk, McpTransport, RpcMessage, ServerProgram } from "./sdk.ts";
