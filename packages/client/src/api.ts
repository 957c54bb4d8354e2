// What a program holds in its hands: a client, its agents and their sessions.
//
// The same shapes stand for a host across the network and for one in this process, so that a screen is written once.
// They are made of wire types alone: an in-process owner's agents and sessions fit them as they are.

import type {
  AgentInfo,
  Baseline,
  CapabilitiesChange,
  Command,
  Entry,
  Fault,
  Found,
  GrantsDelivery,
  ModelPage,
  ModelQuery,
  Partial,
  Reasoning,
  Receipt,
  SessionInfo,
  SessionState,
  Settlement,
  Withdrawal,
} from "@lichen/wire";
import type { Capabilities } from "./capabilities.ts";

/** The connection broke, or never came to be; the watch goes on trying. One for each outage, however long. */
export interface Outage {
  readonly type: "outage";
  readonly data: { readonly since: number; readonly reason: Fault };
}

/** The connection is there again; what was missed follows. */
export interface Back {
  readonly type: "back";
  readonly data: { readonly since: number; readonly at: number };
}

/** One frame of a session's stream. `state` and `partial` are hints; what changes state is an entry. */
export type Frame =
  | { readonly type: "baseline" | "reset"; readonly id: string; readonly data: Baseline }
  | { readonly type: "entry"; readonly id: string; readonly data: Entry }
  | { readonly type: "partial"; readonly data: Partial }
  | {
      readonly type: "state";
      readonly data: { state: SessionState; pending: number; approvals: number };
    }
  | Outage
  | Back;

export interface HostBaseline {
  readonly agents: AgentInfo[];
  /** Sessions that run, wait for a person or have queued work, and the newest others; 200 at most. */
  readonly sessions: SessionInfo[];
}

/** One frame of the host's stream. */
export type HostFrame =
  | { readonly type: "baseline" | "reset"; readonly id: string; readonly data: HostBaseline }
  | { readonly type: "session"; readonly id: string; readonly data: SessionInfo }
  | {
      readonly type: "deleted";
      readonly id: string;
      readonly data: { readonly agent: string; readonly session: string };
    }
  /** After a `reset`, what agents may call is read again anyway. */
  | { readonly type: "capabilities"; readonly id: string; readonly data: CapabilitiesChange }
  | Outage
  | Back;

export interface WatchOptions {
  /** The id of the last frame that the reader has: what is newer follows, or a reset. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

export interface Client {
  agents(): Promise<AgentInfo[]>;
  /** Addresses an agent; does no I/O. */
  agent(name: string): Agent;
  /** The directory of the whole host, and every change of it. */
  watchHost(options?: WatchOptions): AsyncIterable<HostFrame>;
}

export interface Agent {
  readonly agent: string;
  /** What it may call. A host without the feature `capabilities` refuses with `unknown_route`. */
  readonly capabilities: Capabilities;
  info(): Promise<AgentInfo>;
  /** Addresses a session; does no I/O. */
  session(id: string): Session;
  /** Latest activity first. `before` is the `next` of an earlier page. */
  sessions(page?: {
    limit?: number;
    before?: string;
  }): Promise<{ sessions: SessionInfo[]; next?: string }>;
  create(options: {
    requestId: string;
    session?: string;
    title?: string;
    model?: string;
    reasoning?: Reasoning;
  }): Promise<{ info: SessionInfo; replay: boolean }>;
  /**
   * The models that its sessions can be set to, those that are ready first; none where its engine offers no choice. A
   * host without the feature `models` refuses with `unknown_route`.
   */
  models(query?: ModelQuery): Promise<ModelPage>;
}

export interface Session {
  readonly id: string;
  /** The one way in: prompts, lines, cancels, aborts, answers, compactions. After a lost answer, send the same again. */
  send(command: Command): Promise<Receipt>;
  withdraw(requestId: string): Promise<Withdrawal>;
  /** Undefined while pending at the deadline (0–30,000 ms, default 0). Aborting the read cancels no work. */
  readSettlement(
    commandId: string,
    options?: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<Settlement | undefined>;
  info(): Promise<SessionInfo>;
  read(options?: { limit?: number; before?: number }): Promise<Baseline>;
  /**
   * Baseline first, then every later entry once and in order; straight to entries where `after` is near enough. Ends
   * when the session is deleted; over HTTP it outlives the connection, in process it also ends with its owner.
   */
  watch(options?: WatchOptions): AsyncIterable<Frame>;
  change(changes: {
    title?: string;
    model?: string;
    reasoning?: Reasoning;
    leaf?: string;
  }): Promise<SessionInfo>;
  fork(options: {
    requestId: string;
    at?: string;
    session?: string;
  }): Promise<{ info: SessionInfo; replay: boolean }>;
  /**
   * A host's decisions on what this session's calls may do, from the next call on; they replace what it delivered before.
   * A version older than the last is refused with `stale`.
   */
  deliverGrants(delivery: GrantsDelivery): Promise<void>;
  /** Also succeeds when it is gone. */
  delete(options?: { epoch?: string }): Promise<void>;
  search(options: { q: string; limit?: number }): Promise<{ found: Found[] }>;
  blob(sha256: string): Promise<{ bytes: Uint8Array; mimeType: string } | undefined>;
}
