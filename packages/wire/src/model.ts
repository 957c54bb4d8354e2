// What a model is to someone who chooses one for a session: its name on the wire, its levels, its window, its readiness.
//
//   W9  A level that this version does not know is left out, and the rest of what a newer host says is kept.

import * as z from "zod";
import { Reasoning } from "./content.ts";

export const ModelInfo = z.object({
  /** `provider/id`, as a session's `model` names it. */
  model: z.string(),
  /** What people call it. */
  name: z.string().optional(),
  /** The levels it takes, least first; none where it does not reason. */
  reasoning: z.array(z.unknown()).transform((levels) => levels.flatMap(knownLevel)),
  /** Tokens. */
  contextWindow: z.number().optional(),
  /** Its provider has a key or a login at hand. */
  isReady: z.boolean(),
});
export type ModelInfo = z.infer<typeof ModelInfo>;

/** Models of an agent, and what counts where a session names none. */
export const ModelPage = z.object({
  /** Those that are ready first. */
  models: z.array(ModelInfo),
  /** The model that a session without one of its own runs on. */
  default: z.string().optional(),
  /** The level that a session without one of its own runs on. */
  reasoning: Reasoning.optional().catch(undefined),
  /** Whether more models match: a narrower `q` shows them. */
  more: z.boolean(),
});
export type ModelPage = z.infer<typeof ModelPage>;

/** Which models to tell of. */
export const ModelQuery = z.strictObject({
  /** A part of the spec or of the name, in any case. */
  q: z
    .string()
    .max(256)
    .refine((value) => value.isWellFormed(), "q: not well-formed Unicode")
    .optional(),
  /** 200 unless told otherwise. */
  limit: z.int().min(1).max(200).optional(),
});
export type ModelQuery = z.infer<typeof ModelQuery>;

function knownLevel(level: unknown): Reasoning[] {
  const known = Reasoning.safeParse(level);
  return known.success ? [known.data] : [];
}
