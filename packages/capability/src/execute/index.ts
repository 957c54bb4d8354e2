export type { ContentBlock } from "./answer.ts";
export { callOnce, type OneCall } from "./call-once.ts";
export type { ConfirmRequest } from "./calls.ts";
export { declarationsOf, type DeclarationOptions } from "./declarations.ts";
export { discoveryNamespace, namespacesText } from "./discovery.ts";
export {
  createExecuteTool,
  type ExecuteContext,
  executeInput,
  type ExecuteInput,
  type ExecuteResult,
  type ExecuteTool,
  type ExecuteToolOptions,
} from "./execute-tool.ts";
export {
  type CallImages,
  type CollectedImage,
  ImageCollector,
  imageLimits,
} from "./image-collector.ts";
export {
  type Binding,
  type BindingCall,
  type Bindings,
  type ExecuteOptions,
  type Execution,
  type Journal,
  ProgramEnd,
  type SandboxExecutor,
  type Snapshot,
} from "./port.ts";
export type {
  ProgramCallLike,
  ProgramLike,
  ProgramOutcomeLike,
  ProgramRecordLike,
} from "./program.ts";
export { checkInput } from "../connectors/check-input.ts";
