export type { Answers, AskedQuestion, Tool, ToolContext, ToolSwitches } from "@lichen/engine";
export { nodeListener, type NodeServer, serveNode } from "./embed/host/serve-node.ts";
export { createInvokeHandler, type InvokeHandlerOptions } from "./embed/invoke-handler.ts";
export { readBodyCapped } from "./embed/read-body-capped.ts";
export { type ChannelHandler, router, type Routes } from "./embed/router.ts";
export { text, textHeaders } from "./embed/text.ts";
export { defineConfig, type LichenConfig } from "./folder/define-config.ts";
export { type ConnectionOptions, defineConnection } from "./folder/define-connection.ts";
export { defineTool, type DefineToolOptions } from "./folder/define-tool.ts";
export type { ContextFile, Definition, Diagnostic } from "./folder/definition.ts";
export type { Skill } from "./folder/skill.ts";
export { AgentFailure, collect, type CollectResult } from "./invoke/collect.ts";
export {
  abortedCode,
  type Agent,
  type AgentEvent,
  type ImageRef,
  interruptedCode,
  type Prompt,
  type Scope,
  sessionBusyCode,
} from "./invoke/contract.ts";
export { invokeOf, type InvokeOfOptions } from "./invoke/invoke-of.ts";
export { z } from "zod";
