// The small event union of `invoke`: what a caller of one prompt sees until its settlement.

import * as z from "zod";
import { Json } from "./json.ts";

export const AgentEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), delta: z.string() }),
  z.object({ type: z.literal("thinking"), delta: z.string() }),
  z.object({ type: z.literal("tool_started"), id: z.string(), name: z.string(), args: Json }),
  z.object({ type: z.literal("tool_ended"), id: z.string(), isError: z.boolean(), content: Json }),
  z.object({
    type: z.literal("retrying"),
    attempt: z.number(),
    maxAttempts: z.number(),
    delayMs: z.number(),
    reason: z.string(),
  }),
  z.object({ type: z.literal("completed"), data: Json.optional() }),
  z.object({
    type: z.literal("failed"),
    details: z.string(),
    retryable: z.boolean(),
    code: z.string().optional(),
  }),
]);
export type AgentEvent = z.infer<typeof AgentEvent>;
