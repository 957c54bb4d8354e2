// What a client reads of the machine API's answers about coding agents. All else of them stays as the machine told it.

import * as z from "zod";

/** A coding agent's session. `id` never changes, names do; `missing` says what keeps it from starting. */
export const MachineSession = z.looseObject({
  id: z.string(),
  name: z.string(),
  dir: z.string(),
  state: z.enum(["idle", "working", "waiting"]),
  pending: z.number(),
  running: z.boolean(),
  last_time: z.string(),
  preview: z.string(),
  harness: z.string(),
  auto_approve: z.boolean(),
  keep_running: z.boolean(),
  starred: z.boolean(),
  /** Empty until it is known. */
  model: z.string(),
  missing: z.string().optional(),
});
export type MachineSession = z.infer<typeof MachineSession>;

export const MachineSessionList = z.object({ sessions: z.array(MachineSession) });

/** The coding agents that a machine offers, and what to do about those that are missing. */
export const MachineHarnesses = z.object({
  harnesses: z.array(z.object({ name: z.string(), takes_command: z.boolean().optional() })),
  missing: z.array(z.object({ name: z.string(), missing: z.string() })).optional(),
});

/** A conversation of a coding agent on this computer, which a session may continue. */
export const MachineConversation = z.looseObject({
  id: z.string(),
  dir: z.string(),
  modified: z.string(),
  harness: z.string().optional(),
  last_user: z.string().nullish(),
  last_assistant: z.string().nullish(),
  adopted_by: z.string().nullish(),
  terminals: z.array(z.looseObject({ pid: z.number(), dir: z.string() })).optional(),
});
export type MachineConversation = z.infer<typeof MachineConversation>;

export const MachineConversationList = z.object({
  conversations: z.array(MachineConversation),
});

/** A refusal of the machine API, or of the host's own door. */
export const MachineRefusal = z.object({
  error: z.union([z.string(), z.object({ code: z.string(), message: z.string() })]),
  code: z.string().optional(),
  retryable: z.boolean().optional(),
});
