export {
  type Effect,
  type EngineScript,
  type Move,
  scriptedEngine,
  type ScriptedEngineOptions,
  type ScriptedToolCall,
  type Seen,
  textOutcome,
} from "./scripted-engine.ts";
