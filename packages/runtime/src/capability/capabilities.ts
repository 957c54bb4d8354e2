// What a program holds of an agent's capabilities: the same words as over HTTP, and what only a host may hold.

import type { CapabilitySource, Registry, SurfaceEvent } from "@lichen/capability";
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
   * Durable, and ready to be called, when it settles. After a lost answer, send the same again: `replay` says that it
   * had been attached before. `unavailable` where its server cannot be reached or refuses; nothing is attached then.
   */
  attach(request: AttachRequest): Promise<{ info: CapabilityInfo; replay: boolean }>;
  /** One of them with its operations, 100 a page and 200 at most. `after` is the `next` of an earlier page. */
  read(id: string, page?: { limit?: number; after?: string }): Promise<CapabilityDetail>;
  /** One that a file of the agent's folder declares is `invalid`: it is changed there. */
  change(id: string, changes: CapabilityChanges): Promise<CapabilityInfo>;
  /** Also succeeds when it is gone. Nothing of it is called any more once this settles. `invalid` as for `change`. */
  detach(id: string): Promise<void>;
  /** Lists anew what it lends; one that is only requested is tried again. */
  refresh(id: string): Promise<CapabilityInfo>;
  /**
   * Runs one operation on the owner's behalf. Without `confirm: true` one that a person must allow is refused with
   * `denied`.
   */
  call(id: string, request: CallRequest, options?: { signal?: AbortSignal }): Promise<CallAnswer>;
  /** The registry itself, for what a host keeps as it is declared somewhere; its refusals are `RegistryError`s. */
  readonly registry: Registry;
  /** What can be called now, for those who make calls under grants and approvals. */
  readonly source: CapabilitySource;
  /** Told once for each change of what can be called, after it is durable; answers how to stop listening. */
  observe(listener: (event: SurfaceEvent) => void): () => void;
}
