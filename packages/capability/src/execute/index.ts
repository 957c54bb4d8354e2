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
