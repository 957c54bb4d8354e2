export { type Answers, answersOf, askedOf, type AskedQuestion } from "./asking.ts";
export {
  capabilityTools,
  type CapabilityTools,
  type CapabilityToolsOptions,
} from "./capability/capability-tools.ts";
export { errorOutcome, outcomeOf, type Tool, type ToolContext, type ToolSwitches } from "./tool.ts";
export { acceptedCall, confirmationOf, outcomeOfWork, Refusal } from "./tool-call.ts";
export { createModelEngine, type ModelEngineOptions } from "./model/engine.ts";
export {
  createModels,
  type ListedModel,
  type ModelChoice,
  type Models,
  type ModelsOptions,
} from "./model/models.ts";
export { recordAnswers, type RecordedAnswer, replayAnswers } from "./model/recording.ts";
export { demoSpec } from "./model/demo.ts";
export { diagnosticOf } from "./model/diagnostic.ts";
export type { After, RetryPolicy } from "./model/retry.ts";
export type { CompactionPolicy, Definition } from "./model/turn.ts";
export type {
  HarnessClock,
  HarnessEngine,
  HarnessOptions,
  HarnessSettings,
  HarnessStanding,
  HarnessWall,
} from "./harness/port.ts";
