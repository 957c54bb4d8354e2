// What a reader sees of a session: its info, its baseline, approvals and settlements.

import * as z from "zod";
import { Reasoning, Usage } from "./content.ts";
import { Entry, OfferedCapabilities, Terminal, WorkType } from "./entry.ts";
import { Json, JsonObject } from "./json.ts";

export const SessionState = z.enum(["idle", "queued", "running", "waiting"]);
export type SessionState = z.infer<typeof SessionState>;

export const SessionInfo = z.object({
  session: z.string(),
  agent: z.string(),
  epoch: z.string(),
  title: z.string().optional(),
  state: SessionState,
  head: z.int().nonnegative(),
  model: z.string().optional(),
  reasoning: Reasoning.optional(),
  /** How its newest run offered the agent's capabilities to the model. */
  capabilities: OfferedCapabilities.optional(),
  leaf: z.string().optional(),
  pending: z.int().nonnegative(),
  approvals: z.int().nonnegative(),
  turns: z.int().nonnegative(),
  /** Of a machine's coding-agent session: how many of its entries are events of the machine API, numbered 1, 2, 3… */
  events: z.int().nonnegative().optional(),
  preview: z.string().optional(),
  usage: Usage,
  createdAt: z.string(),
  lastAt: z.string(),
  forkedFrom: z.object({ session: z.string(), at: z.string() }).optional(),
});
export type SessionInfo = z.infer<typeof SessionInfo>;

const wellFormed = z
  .string()
  .refine((value) => value.isWellFormed(), "not well-formed Unicode: leave out half characters");

/** What a caller may set of a session. */
export const SessionSettings = z.object({
  title: wellFormed.max(1_000).optional(),
  model: wellFormed.min(1).max(256).optional(),
  reasoning: Reasoning.optional(),
});
export type SessionSettings = z.infer<typeof SessionSettings>;

/** What a caller may change of one: a model of null is the engine's own. */
export const SessionChanges = SessionSettings.extend({
  model: SessionSettings.shape.model.unwrap().nullable().optional(),
});
export type SessionChanges = z.infer<typeof SessionChanges>;

export const Approval = z.object({
  approvalId: z.string(),
  commandId: z.string(),
  kind: z.enum(["tool", "question"]),
  /** A coding agent's own id of what it asks. */
  prompt: z.string().optional(),
  tool: z.string().optional(),
  input: Json.optional(),
  digest: z.string(),
  description: z.string().optional(),
  suggestions: z.array(Json).optional(),
  questions: z.array(Json).optional(),
  /** Texts of those questions that may be left unanswered. */
  optional: z.array(z.string()).optional(),
  askedAt: z.string(),
  expiresAt: z.string(),
  state: z.enum(["pending", "allowed", "denied", "withdrawn", "expired"]),
  by: z.string().optional(),
});
export type Approval = z.infer<typeof Approval>;

/** What streams now and is not stored: the whole so far, coalesced. */
export const Partial = z.object({
  commandId: z.string(),
  /** The `seq` of an entry that came before it: a later message of the run holds what streams here. Older hosts leave it out. */
  after: z.int().nonnegative().optional(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  tool: z
    .object({
      index: z.int().nonnegative(),
      name: z.string(),
      argsText: z.string().optional(),
      output: z.string().optional(),
    })
    .optional(),
  /** A provider call failed before its first token and is tried again. */
  retrying: z
    .object({
      attempt: z.int(),
      maxAttempts: z.int(),
      delayMs: z.number(),
      reason: z.string(),
    })
    .optional(),
});
export type Partial = z.infer<typeof Partial>;

export const PendingCommand = z.object({
  commandId: z.string(),
  requestId: z.string().optional(),
  type: WorkType,
  /** The first 4,096 UTF-16 units; the whole text is in the entry `command.queued`. */
  text: z.string(),
  at: z.string(),
});
export type PendingCommand = z.infer<typeof PendingCommand>;

export const Attention = z.object({
  id: z.string(),
  kind: z.string(),
  summary: z.string().max(200),
  since: z.string(),
  expiresAt: z.string().optional(),
});

/** A bounded view of a session: its newest entries (200 and 1 MiB at most), oldest first, and what is open. */
export const Baseline = z.object({
  epoch: z.string(),
  head: z.int().nonnegative(),
  session: SessionInfo,
  entries: z.array(Entry),
  /** Whether older entries exist before the first one shown. */
  more: z.boolean(),
  pending: z.array(PendingCommand),
  running: z
    .object({ commandId: z.string(), startedAt: z.string(), partial: Partial.optional() })
    .optional(),
  approvals: z.array(Approval),
  attention: z.array(Attention),
  projections: JsonObject,
});
export type Baseline = z.infer<typeof Baseline>;

/** How a command ended, for ever. */
export const Settlement = z.object({
  commandId: z.string(),
  terminal: Terminal,
  answer: z.string(),
  usage: Usage,
  toolCalls: z.int().nonnegative(),
  diagnostic: z.string().optional(),
  /** It failed by what may pass (load, the network): the same prompt may well succeed later. */
  retryable: z.literal(true).optional(),
  meta: JsonObject.optional(),
  at: z.string(),
});
export type Settlement = z.infer<typeof Settlement>;

export const Found = z.object({
  seq: z.int(),
  /** Where the session's events are numbered: the number of the event that says it. */
  n: z.int().optional(),
  at: z.string(),
  role: z.enum(["user", "assistant", "tool", "line"]),
  snippet: z.string(),
});
export type Found = z.infer<typeof Found>;

export const AgentInfo = z.object({
  agent: z.string(),
  name: z.string(),
  engine: z.string(),
  model: z.string().optional(),
  state: SessionState,
  sessions: z.int().nonnegative(),
});
export type AgentInfo = z.infer<typeof AgentInfo>;
