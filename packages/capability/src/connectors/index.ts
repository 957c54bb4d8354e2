export type { Connector } from "../connector.ts";
export {
  createOpenApiConnector,
  createOpenApiRequestHandler,
  openApiFactory,
  type OpenApiFactoryOptions,
  type OpenApiConfig,
  type OpenApiConnectorOptions,
  type OpenApiRequest,
  type OpenApiRequestHandler,
  type OpenApiRequestHandlerOptions,
} from "./openapi/index.ts";
export {
  createMcpConnector,
  type McpConfig,
  type McpConnectorOptions,
  mcpFactory,
  type McpOptions,
  type McpSdk,
  type McpTransport,
  parseMcpConfig,
  type RpcMessage,
  type SecretSource,
  type ServerProgram,
  setupMcpConnection,
} from "./mcp/index.ts";
