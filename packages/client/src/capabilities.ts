// What a program holds of an agent's capabilities, wherever the agent is.

import type {
  AttachRequest,
  CallAnswer,
  CallRequest,
  CapabilityChanges,
  CapabilityDetail,
  CapabilityInfo,
  CapabilityList,
} from "@lichen/wire";

/** An agent's capabilities, for its owner. An id that is not there is refused with `unknown_capability`. */
export interface Capabilities {
  /** By namespace. */
  list(): Promise<CapabilityList>;
  /**
   * Ready to be called when it settles. After a lost answer, send the same again: `replay` says that it had been attached
   * before. `unavailable` where its server cannot be reached or refuses; nothing is attached then, unless it is to be kept.
   */
  attach(request: AttachRequest): Promise<{ info: CapabilityInfo; replay: boolean }>;
  /** One of them with its operations, 100 a page and 200 at most. `after` is the `next` of an earlier page. */
  read(id: string, page?: { limit?: number; after?: string }): Promise<CapabilityDetail>;
  change(id: string, changes: CapabilityChanges): Promise<CapabilityInfo>;
  /** Also succeeds when it is gone. Nothing of it is called any more once this settles. */
  detach(id: string): Promise<void>;
  /** Lists anew what it lends; one that is only requested is tried again. */
  refresh(id: string): Promise<CapabilityInfo>;
  /**
   * Runs one operation on the owner's behalf. Without `confirm: true` one that a person must allow is refused with
   * `denied`.
   */
  call(id: string, request: CallRequest, options?: { signal?: AbortSignal }): Promise<CallAnswer>;
}
