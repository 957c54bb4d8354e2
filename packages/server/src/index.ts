export { defineConfig, type LichenConfig } from "./folder/define-config.ts";
export { defineTool, type DefineToolOptions } from "./folder/define-tool.ts";
export { AgentFailure, collect, type CollectResult } from "./invoke/collect.ts";
export type { Agent, AgentEvent, ImageRef, Prompt, Scope } from "./invoke/contract.ts";
export { z } from "zod";
