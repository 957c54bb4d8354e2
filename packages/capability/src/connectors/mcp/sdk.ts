// What of an MCP SDK is used, by shape: its constructors are handed in, and nothing of it is imported here.
//
// `@modelcontextprotocol/client` 2 fits. Answers are `unknown` on purpose: they are a server's words, read in
// `result.ts` and `tools.ts`.

/** Constructors of an SDK, and how a program is started where one can be. */
export interface McpSdk {
  readonly Client: new (info: ClientInfo, options: ClientOptions) => McpClient;
  /** Streamable HTTP. Missing where only programs are served. */
  readonly HttpTransport?: new (url: URL, options: HttpTransportOptions) => McpTransport;
  /** Starts a server as a program. Missing where there are no processes. */
  readonly startServer?: (server: ServerProgram) => McpTransport;
}

interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

interface ClientOptions {
  capabilities: { elicitation: { form: { applyDefaults: boolean } } };
  versionNegotiation: { mode: "auto" | "legacy" | { pin: string }; probe: { timeoutMs: number } };
  listChanged: { tools: { autoRefresh: boolean; debounceMs: number; onChanged: () => void } };
  inputRequired: { maxRounds: number };
  jsonSchemaValidator: {
    getValidator<T>(schema: unknown): (input: unknown) => SchemaVerdict<T>;
  };
}

export type SchemaVerdict<T> =
  | { valid: true; data: T; errorMessage: undefined }
  | { valid: false; data: undefined; errorMessage: string };

interface HttpTransportOptions {
  fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  onInsufficientScope: "throw";
}

/** A program that serves MCP over its standard input and output, as its connection's config says. */
export interface ServerProgram {
  readonly connectionId: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Complete but for what every program needs: PATH and HOME. */
  readonly env: Readonly<Record<string, string>>;
  /** Values of `env` that nothing the server says may repeat. */
  readonly secrets: readonly string[];
  readonly cwd?: string;
  /** The longest message, in bytes. */
  readonly limitBytes: number;
}

export interface McpTransport {
  start(): Promise<void>;
  send(message: RpcMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: RpcMessage, extra?: never) => void) | undefined;
  sessionId?: string | undefined;
  setProtocolVersion?: ((version: string) => void) | undefined;
  setSupportedProtocolVersions?: ((versions: string[]) => void) | undefined;
  readonly hasPerRequestStream?: boolean;
  /** Tells an HTTP server that its session is over. */
  terminateSession?(): Promise<void>;
  /** How a program ended and its last words, for people; nothing while it runs well. */
  ending?(): string | undefined;
  /** What a program said lately that is no message, for people; nothing where it said none. */
  noise?(): string | undefined;
}

export interface SendOptions {
  readonly onRequestStreamEnd?: (() => void) | undefined;
}

type Members = { [name: string]: unknown };

/** A request, a notification, an answer or an error. */
export type RpcMessage =
  | { jsonrpc: "2.0"; id: string | number; method: string; params?: Members }
  | { jsonrpc: "2.0"; method: string; params?: Members }
  | { jsonrpc: "2.0"; id: string | number; result: Members }
  | {
      jsonrpc: "2.0";
      id?: string | number;
      error: { code: number; message: string; data?: unknown };
    };

export interface McpClient {
  connect(transport: McpTransport, options: ConnectOptions): Promise<void>;
  close(): Promise<void>;
  listTools(params: undefined, options: RequestOptions): Promise<{ tools: readonly unknown[] }>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    options: RequestOptions,
  ): Promise<unknown>;
  setRequestHandler(
    method: "elicitation/create",
    handler: (request: { params: unknown }) => Promise<ElicitAnswer>,
  ): void;
  getServerCapabilities(): { tools?: unknown } | undefined;
  getNegotiatedProtocolVersion(): string | undefined;
  getInstructions(): string | undefined;
  readonly autoOpenedSubscription?: { readonly closed: Promise<unknown> } | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

interface ConnectOptions {
  signal: AbortSignal;
  timeout: number;
  prior?: { kind: "legacy" };
}

interface RequestOptions {
  signal: AbortSignal;
  timeout: number;
  maxTotalTimeout?: number;
  resetTimeoutOnProgress?: boolean;
  onprogress?: (progress: Progress) => void;
  cacheMode?: "refresh";
}

export interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

export type ElicitAnswer =
  | { action: "accept"; content: Record<string, string | number | boolean | string[]> }
  | { action: "decline" | "cancel" };
