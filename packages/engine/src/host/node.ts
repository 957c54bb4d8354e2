// What engines use on a Node host: the coding tools, the sandbox around an agent's processes, stored credentials.

export {
  type CodingToolsOptions,
  codingToolNames,
  createCodingTools,
} from "../tools/host/coding-tools.ts";
export { type AcpEngine, createAcpEngine } from "../acp/engine.ts";
export { createClaudeEngine } from "../claude/host/create.ts";
export {
  createQuickJsExecutor,
  type QuickJsExecutor,
  type QuickJsExecutorOptions,
} from "../execute/host/quickjs-executor.ts";
export { createPiEngine } from "../pi/host/create.ts";
export { Guard } from "../tools/host/guard.ts";
export { standsForNothing, sweepPlaceholders } from "../tools/host/placeholders.ts";
export { openSandbox, type Sandbox, type SandboxOptions } from "../tools/host/sandbox.ts";
export { fileCredentials } from "./credentials.ts";
