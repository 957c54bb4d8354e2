// What a scripted provider answers: steps, one for each request. A step says what happens, never how one wire spells it.
//
// Steps are plain data, so that a script can stand in a JSON file for a process of its own; inside one process a gate
// may also be a promise.

import { type Json, JsonObject } from "@lichen/wire";
import * as z from "zod";

/** Tokens as a step reports them. `input` counts neither cache reads nor cache writes. */
export const ScriptedUsage = z.strictObject({
  input: z.int().nonnegative().default(10),
  output: z.int().nonnegative().default(5),
  cacheRead: z.int().nonnegative().default(0),
  cacheWrite: z.int().nonnegative().default(0),
});
export type ScriptedUsage = z.infer<typeof ScriptedUsage>;

const ScriptedCall = z.strictObject({
  name: z.string(),
  /** The provider's id of this call; made from a counter when left out. Providers repeat ids, so may a script. */
  id: z.string().optional(),
  input: JsonObject.optional(),
  /** The arguments' text in these deltas instead of `input`: it need not be JSON. */
  deltas: z.array(z.string()).optional(),
});
export type ScriptedCall = z.infer<typeof ScriptedCall>;

/** How a provider refuses or breaks off. The wire gives each its own status, type and sentence. */
export const RefusalKind = z.enum([
  "unauthenticated",
  "rate_limited",
  "server_error",
  "overloaded",
  "context_length",
  "invalid",
]);
export type RefusalKind = z.infer<typeof RefusalKind>;

const deltas = z.union([z.string(), z.array(z.string())]);

/**
 * One moment of an answer. Neighbouring texts (or thoughts) belong to one block, also across waits; a block closes when
 * another begins or the answer ends, so a cut after an open block leaves it unfinished. Nothing is sent before the
 * first text, thought, call or raw bytes: a wait, cut or hang before those comes before the response's headers.
 */
const PartData = z.union([
  z.strictObject({ text: deltas }),
  z.strictObject({ thinking: deltas, signature: z.string().optional() }),
  z.strictObject({ call: ScriptedCall }),
  z.strictObject({ delayMs: z.number().nonnegative() }),
  /** Waits until the gate of this name is opened. */
  z.strictObject({ gate: z.string() }),
  /** Bytes as they are: broken frames, broken JSON, unknown events. */
  z.strictObject({ raw: z.string() }),
  /** The provider's own error frame inside a stream that had begun. */
  z.strictObject({ breaks: RefusalKind, message: z.string().optional() }),
  /** The connection is destroyed. A library may drop what it had not read yet: to be sure, put a gate before it. */
  z.strictObject({ cut: z.literal(true) }),
  /** Nothing more comes until the caller leaves. */
  z.strictObject({ hang: z.literal(true) }),
]);

const Refusal = z.strictObject({
  refuse: RefusalKind,
  message: z.string().optional(),
  /** Another status than the wire's own for this kind. */
  status: z.int().min(400).max(599).optional(),
  retryAfterSeconds: z.number().nonnegative().optional(),
});
export type Refusal = z.infer<typeof Refusal>;

const answerData = {
  usage: ScriptedUsage.partial().optional(),
  /** Left out: `calls` where the answer holds a call, else `stop`. */
  stop: z.enum(["stop", "length", "calls"]).optional(),
};

/** A step as data: a plain text, an answer, or a refusal. */
const StepData = z.union([
  z.string(),
  Refusal,
  z.strictObject({ parts: z.array(PartData), ...answerData }),
]);

export type Part = z.infer<typeof PartData> | { readonly gate: Promise<unknown> };

export interface Answer {
  readonly parts: readonly Part[];
  readonly usage?: { readonly [K in keyof ScriptedUsage]?: number | undefined } | undefined;
  readonly stop?: "stop" | "length" | "calls" | undefined;
}

export type Step = string | Refusal | Answer;

/** A script in a file. `then` answers every request after the last step. */
export const ScriptFile = z.strictObject({
  steps: z.array(StepData),
  then: StepData.optional(),
});

export function answerOf(step: string | Answer): Answer {
  return typeof step === "string" ? { parts: [{ text: step }] } : step;
}

export function stopOf(answer: Answer): "stop" | "length" | "calls" {
  return answer.stop ?? (answer.parts.some((part) => "call" in part) ? "calls" : "stop");
}

/** The deltas of a call's arguments: as given, or its input as one JSON text. */
export function argumentDeltas(call: ScriptedCall): readonly string[] {
  const input: Json = call.input ?? {};
  return call.deltas ?? [JSON.stringify(input)];
}
