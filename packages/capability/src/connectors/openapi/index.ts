export type { OpenApiConfig } from "./config.ts";
export { createOpenApiConnector, type OpenApiConnectorOptions } from "./connector.ts";
export { openApiFactory, type OpenApiFactoryOptions } from "./factory.ts";
export {
  createOpenApiRequestHandler,
  type OpenApiRequest,
  type OpenApiRequestHandler,
  type OpenApiRequestHandlerOptions,
} from "./handler.ts";
