// What a program holds in its hands: agents and sessions of one owner. The HTTP door gives the same contract.

import type {
  AgentInfo,
  Baseline,
  Command,
  Entry,
  Found,
  GrantsDelivery,
  JsonObject,
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
import type { Capabilities } from "./capability/capabilities.ts";
import type { HarnessDraft } from "./engine/port.ts";

export type { Capabilities } from "./capability/capabilities.ts";

/** One frame of a session's stream. `state` and `partial` are hints; what changes state is an entry. */
export type Frame =
  | { readonly type: "baseline" | "reset"; readonly id: string; readonly data: Baseline }
  | {
      readonly type: "entry";
      readonly id: string;
      readonly data: Entry;
      /** Where the session's events are numbered and this entry is one of them: its number. */
      readonly n?: number;
    }
  | { readonly type: "partial"; readonly data: Partial }
  | {
      readonly type: "state";
      readonly data: { state: SessionState; pending: number; approvals: number };
    };

/** One frame of the host's stream. `id` is its cursor: `<host epoch>.<n>`. */
export type HostFrame =
  | { readonly type: "baseline" | "reset"; readonly id: string; readonly data: HostBaseline }
  | {
      readonly type: "session";
      readonly id: string;
      /** A session that was created or changed. */
      readonly data: SessionInfo;
    }
  | {
      readonly type: "deleted";
      readonly id: string;
      readonly data: { readonly agent: string; readonly session: string };
    }
  | {
      readonly type: "capabilities";
      readonly id: string;
      /** What an agent may call has changed: read it again. After a `reset`, read it anyway. */
      readonly data: {
        readonly agent: string;
        readonly revision: number;
        readonly notices: readonly {
          readonly from: string;
          readonly to: string;
          readonly message: string;
        }[];
      };
    };

export interface HostBaseline {
  readonly agents: AgentInfo[];
  /** Sessions that run, wait for a person or have queued work, and the newest others; 200 at most. */
  readonly sessions: SessionInfo[];
}

/**
 * Where a watch delivers. `frame` must not throw; it answers whether the reader keeps up. After `false` the watch
 * holds frames back (bounded) until `resume()` of the subscription; a reader that stays behind gets one `reset`.
 */
export interface Sink<F> {
  frame(frame: F): boolean;
  /** The watch is over: the session was deleted, or the host drains. */
  end(reason: "deleted" | "closed"): void;
}

export interface Subscription {
  /** The sink can take frames again. */
  resume(): void;
  close(): void;
}

export interface Agent {
  readonly name: string;
  readonly agent: string;
  /** What it may call. */
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
    /** Its events are numbered, as the machine API shows them. */
    events?: true;
  }): Promise<{ info: SessionInfo; replay: boolean }>;
  /** The models that its sessions can be set to, those that are ready first; none where its engine offers no choice. */
  models(query?: ModelQuery): Promise<ModelPage>;
  /**
   * The same agent on behalf of somebody: metadata is checked, stored on what is admitted, and decides identity.
   * `stopsAll`: an owner, who may cancel what others began.
   */
  withMeta(meta: JsonObject, options?: { readonly stopsAll?: boolean }): Agent;
}

/** A page of numbered events. */
export interface EventPage {
  readonly events: readonly { readonly n: number; readonly entry: Entry }[];
  readonly last: number;
}

export interface Session {
  readonly id: string;
  /** The one way in: prompts, lines, cancels, aborts, answers, compactions. */
  send(command: Command): Promise<Receipt>;
  /**
   * Cancels what runs, else what would run next, as a cancel of it does; answers its command's id, undefined where
   * nothing is in hand. All that was admitted before counts.
   */
  interrupt(): Promise<string | undefined>;
  withdraw(requestId: string): Promise<Withdrawal>;
  /** Undefined while pending at the deadline (0–30,000 ms, default 0). Aborting the read cancels no work. */
  readSettlement(
    commandId: string,
    options?: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<Settlement | undefined>;
  info(): Promise<SessionInfo>;
  /** Where a command was admitted: the place in the log just before it. `observe` and `watch` can begin there. */
  placeOf(commandId: string): Promise<{ epoch: string; seq: number }>;
  read(options?: { limit?: number; before?: number }): Promise<Baseline>;
  /** Baseline first, then every later entry in order; straight to entries where `after` (`<epoch>.<seq>`) is near enough. Ends when the session is deleted or the host closes. */
  watch(options?: { after?: string; signal?: AbortSignal }): AsyncIterable<Frame>;
  /** The same, pushed: registered when this returns. */
  observe(sink: Sink<Frame>, options?: { after?: string }): Subscription;
  /** A model of null is the engine's own. */
  change(changes: {
    title?: string;
    model?: string | null;
    reasoning?: Reasoning;
    leaf?: string;
  }): Promise<SessionInfo>;
  /** Moves the leaf to the root: what follows is a new conversation under the same numbers. */
  restart(): Promise<SessionInfo>;
  fork(options: {
    requestId: string;
    at?: string;
    session?: string;
  }): Promise<{ info: SessionInfo; replay: boolean }>;
  /**
   * A host's decisions on what this session's calls of capabilities may do; they replace what it delivered before and
   * count when this returns, durably when it settles. `stale` where the version is lower than the last one's.
   */
  deliverGrants(delivery: GrantsDelivery): Promise<void>;
  /**
   * Opens the engine's connection as a run would, for engines whose harness lives between runs; no run begins.
   * `unavailable` while the agent has no engine or the host stops.
   */
  connect(): Promise<void>;
  /** Writes what belongs to no run, in one transaction. */
  record(drafts: readonly HarnessDraft[], by?: string): Promise<void>;
  /**
   * Merges `patch` into the settings of this session's agent and writes it as one `setting` entry, in one transaction; a
   * null removes its member. `quiet` writes no entry. `invalid` where the store keeps no settings of the agent,
   * `too_large` above 64 KiB of JSON together.
   */
  configure(patch: JsonObject, by?: string, options?: { readonly quiet?: boolean }): Promise<void>;
  /** Gives the agent another label, and writes that as an entry. `conflict` where another kept agent has it. */
  rename(to: string, by?: string): Promise<void>;
  /**
   * Events after number `after` (0 or more), oldest first: `limit` (1 to 1,000) or 1 MiB of them at most, one at least
   * where there are any. `last` is the number of the newest. Entries are as the log stores them. `invalid` where the
   * session's events are not numbered.
   */
  events(options: { after: number; limit: number }): Promise<EventPage>;
  /** Also succeeds when it is gone. */
  delete(options?: { epoch?: string }): Promise<void>;
  /** Messages that contain `q`, newest first; of `roles` only, where they are named. */
  search(options: {
    q: string;
    limit?: number;
    roles?: readonly Found["role"][];
  }): Promise<{ found: Found[] }>;
  blob(sha256: string): Promise<{ bytes: Uint8Array; mimeType: string } | undefined>;
  /** Its bytes from `part` times half a mebibyte on, as many as that at most; undefined past its end. */
  blobPart(sha256: string, part: number): Promise<Uint8Array | undefined>;
  /** The bound principal's newest pending prompt, steer or follow-up, with its exact text and images. */
  latestPending(): Promise<
    | {
        commandId: string;
        requestId: string;
        text: string;
        images: { mimeType: string; data: string }[];
        meta?: JsonObject;
      }
    | undefined
  >;
}
