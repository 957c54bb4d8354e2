// Entries: the rows of a session's log. Closed in one version, open at the door: an unknown kind from a newer
// peer is kept and shown as unknown.

import * as z from "zod";
import { AssistantBlock, BlobRef, Reasoning, Text, ToolBlock, Usage } from "./content.ts";
import { Json, JsonObject } from "./json.ts";

export const Terminal = z.enum([
  "completed",
  "failed",
  "cancelled",
  "interrupted",
  "outcome_unknown",
]);
export type Terminal = z.infer<typeof Terminal>;

/** Types of admitted work that an engine executes. */
export const WorkType = z.enum(["prompt", "compact", "mail", "outside"]);
export type WorkType = z.infer<typeof WorkType>;

export const Label = z.enum(["read", "write"]);
export type Label = z.infer<typeof Label>;

/** What a capability key allows; `write` includes `read`. */
export const Grant = z.enum(["none", "read", "write"]);
export type Grant = z.infer<typeof Grant>;

export const OfferedCapabilities = z.object({
  offered: z.enum(["direct", "execute"]),
  /** How many operations there are. */
  operations: z.int().nonnegative(),
});
export type OfferedCapabilities = z.infer<typeof OfferedCapabilities>;

const programCall = {
  /** The call that is the program. */
  assistant: z.string(),
  index: z.int().nonnegative(),
  /** The place of this call among those of the program. */
  ordinal: z.int().nonnegative(),
  /** `namespace.operation`. */
  operation: z.string(),
};

const images = z.array(BlobRef).optional();

/** The data of each kind of entry. */
export const entryData = {
  /** Admitted work, with its text as given. */
  "command.queued": z.object({
    type: WorkType,
    text: Text,
    images,
    delivery: z.enum(["follow_up", "steer", "reject"]).optional(),
    /** For work that nobody admitted: who opened it. */
    source: z.string().optional(),
  }),
  /** A cancellation's intent, with the text of what it cancels for resubmission. */
  "command.cancelled": z.object({ text: Text, images, was: z.enum(["pending", "running"]) }),
  /** A command's text where the model reads it. `steers` names the run that it joined. */
  "message.user": z.object({ text: Text, images, steers: z.string().optional() }),
  "message.assistant": z.object({
    content: z.array(AssistantBlock),
    provider: z.string().optional(),
    api: z.string().optional(),
    model: z.string().optional(),
    usage: Usage.optional(),
    stop: z.enum(["stop", "length", "calls", "error", "aborted"]),
    error: z.string().optional(),
    /** The provider refused the request, which held images: those since its last answer are not sent to it again. */
    imagesRefused: z.literal(true).optional(),
  }),
  /** A call's outcome. `content` is for the model, `data` for display only. */
  "message.tool": z.object({
    assistant: z.string(),
    index: z.int().nonnegative(),
    callId: z.string(),
    name: z.string(),
    content: z.array(ToolBlock),
    isError: z.boolean(),
    data: Json.optional(),
    /** The process died in the call, or the call was given up: its effect is unknown. */
    interrupted: z.literal(true).optional(),
  }),
  /** An operator line: recorded for the model, starts no run. */
  line: z.object({ text: Text }),
  "run.started": z.object({ type: WorkType, engine: z.string() }),
  "run.recovered": z.object({ recoveries: z.int().positive() }),
  "run.settled": z.object({
    terminal: Terminal,
    answer: Text,
    usage: Usage,
    toolCalls: z.int().nonnegative(),
    diagnostic: z.string().optional(),
    /** It failed by what may pass: the same prompt may well succeed later. */
    retryable: z.literal(true).optional(),
    /** What the command was when it ended: waiting, running, or part of another command's run. */
    was: z.enum(["pending", "running", "joined"]),
    /**
     * Of a machine's session: no line of its agent says that it ended so, which makes this the event that does. With the
     * message where it never came to the agent.
     */
    untold: z.object({ message: Text.optional() }).optional(),
    /** A cancelled command's terminal carries the cancellation's metadata. */
    meta: JsonObject.optional(),
  }),
  /** The intent of a call, durable before its effect. `input` stands here only where a person edited it. */
  "call.started": z.object({
    assistant: z.string(),
    index: z.int().nonnegative(),
    callId: z.string(),
    name: z.string(),
    label: Label,
    replaySafe: z.boolean(),
    digest: z.string(),
    input: JsonObject.optional(),
  }),
  /** A call that is a program (execute) began: what makes it repeatable. */
  "program.started": z.object({
    assistant: z.string(),
    index: z.int().nonnegative(),
    seed: z.string(),
    /** What it can name, as JSON: the operations of each namespace. Missing where nothing was told, as in old logs. */
    names: Text.optional(),
  }),
  /** The intent of a program's own call, durable before its effect. */
  "program.call": z.object({
    ...programCall,
    capability: z.string(),
    label: Label,
    replaySafe: z.boolean(),
    /** Of the input that the program gave. */
    digest: z.string(),
    input: JsonObject,
  }),
  /** What the program's call came to; `value` is missing where there is none. */
  "program.outcome": z.object({
    ...programCall,
    ok: z.boolean(),
    value: Json.optional(),
    code: z.string().optional(),
    message: Text.optional(),
    /** Of the input, where the call was refused and has no intent. */
    digest: z.string().optional(),
    /** The process died in the call, or the program was given up: its effect is unknown. */
    interrupted: z.literal(true).optional(),
  }),
  /** A host's decisions for this session; they replace all it delivered before. */
  "grants.delivered": z.object({
    version: z.int().nonnegative(),
    grants: z.record(z.string(), Grant),
  }),
  "approval.asked": z.object({
    approvalId: z.string(),
    kind: z.enum(["tool", "question"]),
    /** A coding agent's own id of what it asks. */
    prompt: z.string().optional(),
    assistant: z.string().optional(),
    index: z.int().nonnegative().optional(),
    /** Of a program's own call, which `tool` then names as `namespace.operation`: its place among them. */
    ordinal: z.int().nonnegative().optional(),
    tool: z.string().optional(),
    input: Json.optional(),
    digest: z.string(),
    description: Text.optional(),
    suggestions: z.array(Json).optional(),
    questions: z.array(Json).optional(),
    /** Texts of those questions that may be left unanswered. */
    optional: z.array(z.string()).optional(),
    expiresAt: z.string(),
  }),
  "approval.answered": z.object({
    approvalId: z.string(),
    /** As in what was asked. */
    prompt: z.string().optional(),
    allow: z.boolean(),
    message: Text.optional(),
    answers: JsonObject.optional(),
    input: JsonObject.optional(),
    /** SHA-256 of the canonical JSON of the input that may run. */
    digest: z.string(),
    always: z.boolean().optional(),
    /** Denied, and its run cancelled with it. */
    interrupt: z.boolean().optional(),
  }),
  /** `prompt` as in what was asked, where that waits for nobody from here on. */
  "approval.withdrawn": z.object({
    approvalId: z.string(),
    prompt: z.string().optional(),
    reason: z.string(),
  }),
  "approval.expired": z.object({ approvalId: z.string(), prompt: z.string().optional() }),
  /** What stood before `firstKept` on this branch is replaced by `summary` for the model. */
  compaction: z.object({
    summary: Text,
    firstKept: z.string().optional(),
    tokensBefore: z.number(),
    automatic: z.boolean(),
    usage: Usage.optional(),
  }),
  /** The leaf moved to the root: what follows is a new conversation. */
  "conversation.started": z.object({}),
  "session.changed": z.object({
    title: z.string().optional(),
    /** null: the engine's own from here on. */
    model: z.string().nullable().optional(),
    reasoning: Reasoning.optional(),
    leaf: z.string().optional(),
    /** Names of deferred tools that this conversation has activated, all of them. */
    tools: z.array(z.string()).optional(),
    /** How the model gets at the agent's capabilities: as tools of their own, or through `execute`. */
    capabilities: OfferedCapabilities.optional(),
  }),
  /** A line of a coding agent, as received. Partial lines are not stored. */
  "harness.line": z.object({ harness: z.string(), line: Json }),
  /** The coding agent's own conversation, known from here on: its id, and its transcript where one is named by a file. */
  "harness.conversation": z.object({
    conversation: z.string(),
    file: z.string().optional(),
    /** The model that it had of its own, where it was set to another. */
    ownModel: z.string().optional(),
  }),
  /**
   * A process group was made for a coding agent that has not begun yet: it begins after this is durable. `startedAt` and
   * `boot` tell it from a later one of the same number.
   */
  "harness.process": z.object({
    group: z.int().positive(),
    startedAt: z.string(),
    boot: z.string(),
  }),
  /** The coding agent's process is gone, with its whole group. */
  "harness.stopped": z.object({ reason: z.string() }),
  /** It was ended on request, to go on in the same conversation. */
  "harness.restarted": z.object({}),
  /** Settings of a machine's session that changed, each under its name of the machine API. */
  setting: z.object({ settings: JsonObject }),
  /** The session's label changed; its id did not. */
  renamed: z.object({ from: z.string(), to: z.string() }),
} as const;

export type Kind = keyof typeof entryData;
export type EntryData = { [K in Kind]: z.infer<(typeof entryData)[K]> };

/** The kinds that are always events of the machine API. */
const machineEvents: ReadonlySet<string> = new Set<Kind>([
  "harness.line",
  "message.user",
  "approval.answered",
  "harness.stopped",
  "harness.restarted",
  "conversation.started",
  "setting",
  "renamed",
]);

/**
 * Whether an entry is an event of the machine API: those are numbered among themselves in a session of a coding agent. Of
 * a settlement, and of a prompt that nobody answered, that hangs on what they say: in logs from before they say it they
 * have no numbers.
 */
export function isMachineEvent(recorded: Pick<Entry, "kind" | "data">): boolean {
  const { kind, data } = recorded;
  if (kind === "run.settled") return data["untold"] !== undefined;
  if (kind === "approval.withdrawn" || kind === "approval.expired")
    return data["prompt"] !== undefined;
  return machineEvents.has(kind);
}

const shape = {
  seq: z.int().positive(),
  id: z.string(),
  at: z.string(),
  kind: z.string(),
  commandId: z.string().optional(),
  requestId: z.string().optional(),
  parent: z.string().optional(),
  by: z.string().optional(),
  data: JsonObject,
  meta: JsonObject.optional(),
};

/** An entry of any kind, as it crosses a process. `at` is RFC 3339 UTC. */
export const Entry = z.object(shape);
export type Entry = z.infer<typeof Entry>;

type Frame = Omit<Entry, "kind" | "data">;
export type EntryOf<K extends Kind> = Frame & { kind: K; data: EntryData[K] };
export type KnownEntry = { [K in Kind]: EntryOf<K> }[Kind];

/** The entry with the type of its kind, where this version knows the kind. Its data was checked where it came in. */
export function known(entry: Entry): KnownEntry | undefined {
  return isKind(entry.kind) ? (entry as KnownEntry) : undefined;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(entryData, kind);
}

/** Parses an entry at a door: the frame always, the data where the kind is known. */
export function parseEntry(value: unknown): Entry {
  const entry = Entry.parse(value);
  if (isKind(entry.kind)) entryData[entry.kind].parse(entry.data);
  return entry;
}

/**
 * What a program's call answered to its code. Where it handed out images or showed something besides, the log has all of
 * it as `{"$answered": {value?, images?, display?}}`.
 */
export function programValue(recorded: Json): Json | undefined {
  if (typeof recorded !== "object" || recorded === null || Array.isArray(recorded)) return recorded;
  const { $answered: answered, ...others } = recorded;
  if (answered === undefined || Object.keys(others).length > 0) return recorded;
  return typeof answered === "object" && answered !== null && !Array.isArray(answered)
    ? answered["value"]
    : recorded;
}
