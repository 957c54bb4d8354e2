export { AgentEvent } from "./agent-event.ts";
export {
  AttachRequest,
  CallAnswer,
  CallRequest,
  CapabilitiesChange,
  CapabilityAuth,
  CapabilityChanges,
  CapabilityDetail,
  CapabilityId,
  CapabilityInfo,
  CapabilityList,
  CapabilityState,
  GrantsDelivery,
  Namespace,
  OperationInfo,
  OwnerLabel,
} from "./capability.ts";
export {
  Command,
  type CommandOf,
  Delivery,
  faultCodeOf,
  InlineImage,
  InlineImages,
  PromptText,
  Receipt,
  textLimitBytes,
  Withdrawal,
} from "./command.ts";
export {
  addUsage,
  AssistantBlock,
  BlobRef,
  CallBlock,
  noUsage,
  Reasoning,
  Text,
  ToolBlock,
  Usage,
} from "./content.ts";
export {
  Entry,
  type EntryData,
  type EntryOf,
  entryData,
  Grant,
  known,
  machineEvents,
  type Kind,
  type KnownEntry,
  Label,
  OfferedCapabilities,
  parseEntry,
  programValue,
  Terminal,
  WorkType,
} from "./entry.ts";
export { Fault, faultBody, type FaultCode, faultStatus } from "./fault.ts";
export {
  approvalOf,
  baselineBytes,
  baselineEntries,
  bounded,
  cut,
  describeBlob,
  foldAroundEntries,
  foldBaseline,
  pendingOf,
  projectSession,
  replaces,
  textOf,
} from "./fold.ts";
export {
  AgentLabel,
  AgentName,
  ApprovalId,
  CommandId,
  EntryId,
  RequestId,
  SessionId,
  utf8Bytes,
} from "./id.ts";
export { ImageType, imageTypeOf, imageTypeOfBase64 } from "./image.ts";
export { canonicalJson, Json, JsonObject } from "./json.ts";
export { ModelInfo, ModelPage, ModelQuery } from "./model.ts";
export {
  AgentInfo,
  Approval,
  Attention,
  Baseline,
  Found,
  Partial,
  PendingCommand,
  SessionInfo,
  SessionSettings,
  SessionState,
  Settlement,
} from "./session.ts";
