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
export { answerBounds, type JsonBounds, JsonScan } from "./json-bounds.ts";
export {
  createMcpConnector,
  malformedCode,
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
export {
  createFilesConnector,
  type FileEntry,
  type FilePart,
  type FilesConfig,
  type FilesConnectorOptions,
  filesFactory,
  type FileStat,
  type FileStore,
  readFilesConfig,
  type WriteHow,
} from "./files/index.ts";
export {
  createSkillsConnector,
  type ReadSkillHead,
  type SkillHead,
  type SkillsConnectorOptions,
  skillsFactory,
} from "./skills/connector.ts";
export { createUiConnector, type UiConnectorOptions, uiFactory } from "./ui/connector.ts";
