export type * from "./api.ts";
export type { Capabilities } from "./capabilities.ts";
export {
  createClient,
  type ClientOptions,
  type Health,
  type HttpClient,
} from "./http/create-client.ts";
export type { Fetch } from "./http/line.ts";
export { type LocalOwner, localClient } from "./local-client.ts";
export type { ClientPlatform } from "./platform.ts";
export { settled } from "./settled.ts";
export { isReadable } from "./stream/read-entry.ts";
export { ViewFold, viewOf } from "./view/fold.ts";
export type * from "./view/view.ts";
export { memoryStorage } from "./outbox/memory-storage.ts";
export {
  type Draft,
  openOutbox,
  type Outbox,
  type OutboxOptions,
  type Outgoing,
  type Picture,
} from "./outbox/outbox.ts";
export type { OutboxEvent, Recall } from "./outbox/lane.ts";
export type { OutboxItem, OutboxStorage } from "./outbox/storage.ts";
