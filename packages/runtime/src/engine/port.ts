// The engine port: what executes a run, and what the runtime lends it while it does.
//
// An engine opens one connection per session and runs one command at a time. It keeps no durable state of its own
// that the log lacks: on a restart it is given the same command again (`recoveries` > 0) with the transcript as it
// was committed, and goes on from there.

import type { Access } from "@lichen/capability";
import type {
  BlobRef,
  EntryData,
  EntryOf,
  Json,
  JsonObject,
  Label,
  ModelInfo,
  OfferedCapabilities,
  Partial,
  Reasoning,
  Usage,
  WorkType,
} from "@lichen/wire";
import type { Program } from "./program.ts";

/** An engine: named, able, and opened once per session. */
export interface Engine {
  /** `model`, `claude`, `pi`, `acp`, or a test's own. */
  readonly name: string;
  readonly can: EngineAbilities;
  /** Refuses (`invalid`) settings that no run could use: a model or a level that does not exist. */
  check?(settings: { model?: string; reasoning?: Reasoning }): Promise<void>;
  /** What its sessions can be set to; left out where there is nothing to choose. */
  models?(): Promise<ModelCatalogue>;
  /** Addresses a session. Does no I/O until `run`. */
  open(session: EngineSession, host: EngineHost): Connection;
}

/** All models of an engine, and what it takes where a session names nothing. */
export interface ModelCatalogue {
  readonly models: readonly ModelInfo[];
  /** `provider/id`. */
  readonly default?: string;
  readonly reasoning?: Reasoning;
}

/** What a connection may do outside any run. */
export interface EngineHost {
  /**
   * Opens a run that nobody admitted (a harness that woke by itself): `run` is called with a work of type `outside`.
   * `text` stands in the log as what was said there, and may be empty.
   */
  outside(opened: { source: string; text: string }): Promise<{ commandId: string }>;
  /** Writes entries that belong to no run, in one transaction; settles when they are durable. `by`: who caused them. */
  record(drafts: readonly HarnessDraft[], by?: string): Promise<void>;
  /** What the log says of the session's coding agent now. */
  harness(): HarnessState;
}

/** What is known of a session's coding agent: derived from its log, the same after a restart. */
export interface HarnessState {
  /** Of the conversation that the session is in: none before the harness named it, and none after `conversation.started`. */
  readonly conversation?: {
    readonly id: string;
    readonly file?: string;
    readonly ownModel?: string;
  };
  /** The process group that was recorded last and not said to be gone. */
  readonly process?: EntryData["harness.process"];
}

/** What a harness's driver writes, in a run or outside of one. */
export type HarnessDraft =
  | { readonly kind: "harness.line"; readonly data: EntryData["harness.line"] }
  | { readonly kind: "harness.conversation"; readonly data: EntryData["harness.conversation"] }
  | { readonly kind: "harness.process"; readonly data: EntryData["harness.process"] }
  | { readonly kind: "harness.stopped"; readonly data: EntryData["harness.stopped"] }
  | { readonly kind: "harness.restarted"; readonly data: EntryData["harness.restarted"] };

export interface EngineAbilities {
  /** Takes steers while it runs. */
  readonly steer: boolean;
  readonly approve: boolean;
  /** Goes on with a run after its process died. */
  readonly resume: boolean;
  readonly takeover: boolean;
  readonly images: boolean;
  readonly models: boolean;
  /**
   * May begin while its command is still being written to disk: what it sends out before its first own commit (a
   * request to a model) does no harm if a power failure makes the caller send the command again. Not for harnesses.
   */
  readonly eager?: boolean;
}

export interface EngineSession {
  readonly agent: string;
  readonly session: string;
  readonly epoch: string;
}

export interface Connection {
  /**
   * Executes one command to its end. Failures of models and tools are results; a rejection is a bug of the engine
   * or a failed commit, and settles the command `failed`. It must end soon after `run.signal` aborts.
   */
  run(work: Work, run: Run): Promise<Result>;
  /** `why`, in words: left out where its host ends. */
  close(why?: string): Promise<void>;
  /** True: it holds a process worth keeping between runs. Otherwise it is closed when the queue is empty. */
  readonly stays?: boolean;
}

/** The command to execute. Its text already stands in the transcript as `message.user` (for `prompt` and `mail`). */
export interface Work {
  readonly commandId: string;
  readonly type: WorkType;
  /** The prompt, or the instructions of a `compact`. */
  readonly text: string;
  readonly images: readonly BlobRef[];
  readonly source?: string;
  /** How often this run was begun again since its last committed step; 0 for a fresh one. */
  readonly recoveries: number;
  /** True where an earlier process began this run. */
  readonly resumed: boolean;
}

export interface Result {
  readonly terminal: "completed" | "failed" | "cancelled" | "interrupted" | "outcome_unknown";
  /** The final answer; left out, it is the text of the run's last assistant message. */
  readonly answer?: string;
  /** Why it failed: one line, no secrets; cut at 1,024 characters. */
  readonly diagnostic?: string;
  /** Of a failure: by what may pass, so that the same prompt may well succeed later. */
  readonly retryable?: boolean;
  /** The agent's own line says to clients of the machine API how it ended: its settlement need not. */
  readonly isTold?: boolean;
  /** Written in the transaction of the settlement: a last message costs no commit of its own. */
  readonly entries?: readonly Draft[];
}

/** What an engine may write. Strings of any length; long ones become blobs in the log. */
export type Draft =
  | { readonly kind: "message.assistant"; readonly data: EntryData["message.assistant"] }
  | { readonly kind: "message.tool"; readonly data: ToolDraft }
  | { readonly kind: "compaction"; readonly data: EntryData["compaction"] }
  | { readonly kind: "session.changed"; readonly data: EntryData["session.changed"] }
  | HarnessDraft;

/** A call's outcome that needed no intent, because nothing ran (bad arguments, an unknown tool). */
export interface ToolDraft extends Outcome {
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
}

export type OutcomeBlock =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64. */
  | { readonly type: "image"; readonly mimeType: string; readonly data: string };

export interface Outcome {
  readonly content: readonly OutcomeBlock[];
  readonly isError: boolean;
  /** For display only; never reaches the model. */
  readonly data?: Json;
}

/** An entry of the model's context. Texts are whole strings again (`textOf` reads them); images are blob references. */
export type TranscriptEntry =
  | EntryOf<"message.user">
  | EntryOf<"message.assistant">
  | EntryOf<"message.tool">
  | EntryOf<"line">
  | EntryOf<"compaction">;

/** One tool call of an assistant message, under its author's labels. */
export interface Call {
  /** Entry id of the assistant message; with `index` the call's key. */
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
  /** Validated input. */
  readonly input: JsonObject;
  readonly label: Label;
  /** Running it twice does no harm. */
  readonly replaySafe: boolean;
  /** Present: a person must allow exactly this input first. */
  readonly confirm?: { readonly description?: string } | undefined;
  /** Validates an input that a person edited; throws with the reason. */
  readonly check?: ((input: JsonObject) => JsonObject) | undefined;
}

export interface Question {
  /**
   * The engine's own key for this question within the run: asking again after a restart finds the same approval, as long
   * as the input or the questions are the same; others under the key are asked anew. A question of a running call begins
   * with the call's own name, `<assistant>/<index>/`: it is withdrawn when the call ends.
   */
  readonly key: string;
  readonly kind: "tool" | "question";
  /** The harness's own id of it, by which clients of the machine API answer. */
  readonly prompt?: string;
  /** What the harness itself said to ask: written with the question, just before it. */
  readonly line?: EntryData["harness.line"];
  /** The call that it is about, or whose tool asks, by its assistant entry and place. */
  readonly assistant?: string;
  readonly index?: number;
  /** Of a call that a program makes: its place among them. */
  readonly ordinal?: number;
  readonly tool?: string;
  readonly input?: Json;
  readonly description?: string;
  readonly suggestions?: Json[];
  readonly questions?: Json[];
  /** Texts of questions that may be left unanswered; what a harness (`prompt`) asks needs all others answered. */
  readonly optional?: string[];
  readonly check?: ((input: JsonObject) => JsonObject) | undefined;
}

export interface Answer {
  readonly outcome: "allowed" | "denied" | "expired" | "withdrawn";
  readonly message?: string;
  readonly answers?: JsonObject;
  /** The input as a person edited it, validated. */
  readonly input?: JsonObject;
  readonly always?: boolean;
  /** Of a denial: the run is cancelled with it. */
  readonly interrupt?: boolean;
}

/** A message that joined the run at a safe point; it is in the log and in `transcript()` by now. */
export type Steer = EntryOf<"message.user"> | EntryOf<"line">;

/** What the runtime lends an engine for one run. Every promise rejects if its commit failed; the signal fires then too. */
export interface Run extends EngineSession {
  readonly commandId: string;
  /** Aborts when the command is cancelled, the host drains, or a commit failed. */
  readonly signal: AbortSignal;
  /** The session's settings now. `tools`: the deferred tools that this conversation has activated. */
  settings(): {
    readonly model?: string;
    readonly reasoning?: Reasoning;
    /** How an earlier run said that it offers the agent's capabilities. */
    readonly capabilities?: OfferedCapabilities;
    readonly tools: readonly string[];
  };
  /** All that decides about this session's calls of capabilities, as it stands now: ask at each call, keep nothing. */
  access(): Access;
  /**
   * The branch that ends in the leaf, oldest first; where it was compacted it begins with the newest `compaction`, then
   * what that kept. `newest`: no more than so many of its newest entries, which is fast on any branch.
   */
  transcript(newest?: number): TranscriptEntry[];
  /**
   * The lines of a coding agent that this run has recorded, whole, oldest first: what a driver goes on from after a crash.
   * `newest`: no more than so many of the newest.
   */
  lines(newest?: number): Json[];
  /** The bytes of an image or text blob of this session. */
  blob(sha256: string): Uint8Array | undefined;
  /** Writes entries in one transaction; settles when they are durable. Entries come back in order. */
  append(drafts: readonly Draft[]): Promise<EntryOf<Draft["kind"]>[]>;
  /**
   * Shows what streams now: the whole so far, never stored. Cheap; call it per delta. It belongs to the message that is
   * appended next; what a call puts out after its outcome is dropped.
   */
  partial(partial: Omit<Partial, "commandId" | "after">): void;
  /**
   * One call through its whole order: a recorded outcome is returned; a call an earlier process left open runs again
   * only if it is `read` or replay-safe, else its interrupted outcome is recorded; `confirm` asks and waits; then the
   * durable intent, the effect, the durable outcome. A throw of `effect` becomes an error outcome.
   */
  call(
    call: Call,
    effect: (input: JsonObject, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome>;
  /** Whether a call's intent is in the log: one that has none was never made. */
  hasBegun(call: { readonly assistant: string; readonly index: number }): boolean;
  /** Whether a call that has not begun waits for a person, who has not decided yet. */
  isUndecided(call: { readonly assistant: string; readonly index: number }): boolean;
  /**
   * What a running call that makes calls of its own keeps: the same object, however often it is asked for. Such a call is
   * itself labelled `read` and replay-safe, so that it runs again after a crash: what it does to the world are its calls,
   * which have labels of their own.
   */
  program(call: { readonly assistant: string; readonly index: number }): Promise<Program>;
  /** Asks a person and waits, across restarts. */
  ask(question: Question): Promise<Answer>;
  /**
   * The person is no longer needed: the harness answered by itself or died. `isAskedAgain`: another run asks the same, so
   * that to people it goes on.
   */
  withdrawQuestion(key: string, reason: string, how?: { isAskedAgain?: boolean }): Promise<void>;
  /** The same of all questions under keys that begin so, also those of an earlier process. */
  withdrawQuestions(prefix: string, reason: string): Promise<void>;
  /** Takes the steers and lines that arrived, at a safe point: each becomes a message of this run. Empty without I/O when there are none. */
  steers(): Promise<Steer[]>;
  /**
   * Calls `arrived` when there is something for `steers()` to take, also when there is already, until the returned
   * function is called or the run ends. For engines whose harness takes messages at any time.
   */
  onSteer(arrived: () => void): () => void;
  /**
   * Calls `arrived` when a command waits behind this run, also when one does already, until the returned function is
   * called or the run ends. For runs that only wait for somebody, of a harness that could do something else meanwhile.
   */
  onQueued(arrived: () => void): () => void;
  /** Usage of calls that stand in no entry (a summary that failed, a title). */
  addUsage(usage: Usage): void;
}
