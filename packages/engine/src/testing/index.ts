export {
  type EngineScript,
  type Move,
  scriptedEngine,
  type ScriptedEngineOptions,
  type ScriptedToolCall,
} from "@lichen/runtime/testing";
export type { Wire } from "./encoding.ts";
export {
  type Ending,
  type ReceivedCall,
  type ReceivedImage,
  type ReceivedMessage,
  ReceivedRequest,
  type ReceivedResult,
} from "./received-request.ts";
export type { Answer, Part, Refusal, RefusalKind, Step } from "./script.ts";
export {
  type Script,
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "./scripted-provider.ts";
