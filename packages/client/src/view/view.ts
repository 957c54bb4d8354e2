// What a screen shows of a session: plain values, replaced and never changed, so that a screen compares by identity.

import type {
  Approval,
  AssistantBlock,
  Baseline,
  BlobRef,
  Entry,
  EntryData,
  Json,
  Label,
  PendingCommand,
  SessionInfo,
  Terminal,
  Text,
  ToolBlock,
  Usage,
} from "@lichen/wire";

export interface View {
  readonly session: SessionInfo;
  /** The selected branch of the conversation, oldest first, each remark where it came. */
  readonly items: readonly Item[];
  /** Whether older entries exist before the oldest one known here. */
  readonly more: boolean;
  readonly running?: NonNullable<Baseline["running"]>;
  readonly queue: readonly PendingCommand[];
  readonly approvals: readonly Approval[];
  readonly attention: Baseline["attention"];
  readonly projections: Baseline["projections"];
  /** Since when the connection is gone. */
  readonly outage?: { readonly since: number; readonly reason: string };
}

/** What every item carries: the entry it came from. */
interface FromEntry {
  /** The entry's id. */
  readonly id: string;
  readonly seq: number;
  readonly at: string;
  readonly commandId?: string;
}

export type Item = FromEntry &
  (
    | {
        readonly type: "user";
        readonly text: Text;
        readonly images: readonly BlobRef[];
        readonly requestId?: string;
        readonly by?: string;
        /** The run that it joined while that ran. */
        readonly steers?: string;
      }
    | {
        readonly type: "assistant";
        readonly content: readonly AssistantBlock[];
        readonly calls: readonly CallView[];
        readonly stop: EntryData["message.assistant"]["stop"];
        readonly model?: string;
        readonly usage?: Usage;
        readonly error?: string;
      }
    /** An outcome whose call is not on what is loaded of the branch. */
    | { readonly type: "tool"; readonly call: CallView }
    | {
        readonly type: "line";
        readonly text: Text;
        readonly requestId?: string;
        readonly by?: string;
      }
    | { readonly type: "compaction"; readonly summary: Text; readonly automatic: boolean }
    | { readonly type: "conversation" }
    | { readonly type: "recovered"; readonly recoveries: number }
    /** A run that did not complete. */
    | {
        readonly type: "ended";
        readonly terminal: Exclude<Terminal, "completed">;
        readonly diagnostic?: string;
      }
    | {
        readonly type: "cancelled";
        readonly text: Text;
        readonly images: readonly BlobRef[];
        readonly was: "pending" | "running";
      }
    | { readonly type: "changed"; readonly changes: EntryData["session.changed"] }
    | { readonly type: "question"; readonly question: QuestionView }
    /** Of a kind, or in a shape, that this version does not know. */
    | { readonly type: "unknown"; readonly entry: Entry }
  );

export type ItemOf<T extends Item["type"]> = Extract<Item, { type: T }>;

/**
 * Where a call stands: `called` by the model, `waiting` for a person, `allowed` or `denied` by one, `running`, or ended:
 * `done`, `failed`, `interrupted` (its effect is unknown).
 */
export type CallState =
  | "called"
  | "waiting"
  | "allowed"
  | "denied"
  | "running"
  | "done"
  | "failed"
  | "interrupted";

export interface CallView {
  /** The assistant message's entry and the call's place in it: the call's identity. */
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
  /** What it runs with: as the model gave it, or as a person edited it. */
  readonly input?: Json;
  readonly isEdited: boolean;
  readonly state: CallState;
  readonly label?: Label;
  readonly approvalId?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** Its outcome, for the model and for display. */
  readonly content?: readonly ToolBlock[];
  readonly data?: Json;
  /** Of a call that is a program: the calls that it made, in the order in which it made them. */
  readonly calls?: readonly InnerCallView[];
}

/** One call of a program. */
export interface InnerCallView {
  /** Its place among the program's calls, from 0 on. */
  readonly ordinal: number;
  /** `namespace.operation`. */
  readonly operation: string;
  /** The capability's id. */
  readonly capability?: string;
  readonly label?: Label;
  /** What it runs with: as the program gave it, or as a person edited it. */
  readonly input?: Json;
  readonly isEdited: boolean;
  readonly state: CallState;
  readonly approvalId?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** What it answered; of a large value the first 4,096 characters of its JSON, as a text. */
  readonly value?: Json;
  /** `value` is the beginning alone. */
  readonly isCut?: true;
  /** Why it failed. */
  readonly code?: string;
  readonly message?: Text;
}

export interface QuestionView {
  readonly approvalId: string;
  readonly description?: Text;
  readonly questions: readonly Json[];
  readonly state: "pending" | "answered" | "denied" | "withdrawn" | "expired";
  readonly answers?: EntryData["approval.answered"]["answers"];
  readonly message?: Text;
  readonly by?: string;
}
