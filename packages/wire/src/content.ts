// What messages are made of, in a provider-neutral shape. Large strings and images are blobs.

import * as z from "zod";
import { Json } from "./json.ts";

/** Bytes kept beside the log: SHA-256 in hex, media type, length in bytes. */
export const BlobRef = z.object({
  blob: z.string().regex(/^[0-9a-f]{64}$/),
  mimeType: z.string(),
  bytes: z.int().nonnegative(),
});
export type BlobRef = z.infer<typeof BlobRef>;

/** Text, or a reference to it where it is longer than 32 KiB. */
export const Text = z.union([z.string(), BlobRef]);
export type Text = z.infer<typeof Text>;

const TextBlock = z.object({
  type: z.literal("text"),
  text: Text,
  /** Opaque to us: what the provider wants back with this block. */
  signature: Text.optional(),
});
const ThinkingBlock = z.object({
  type: z.literal("thinking"),
  text: Text,
  signature: Text.optional(),
  redacted: z.boolean().optional(),
});
const ImageBlock = z.object({ type: z.literal("image"), image: BlobRef });
/** A tool call. `index` counts the calls of one assistant message from 0; calls are keyed by entry and index. */
export const CallBlock = z.object({
  type: z.literal("call"),
  index: z.int().nonnegative(),
  callId: z.string(),
  name: z.string(),
  input: Json,
  signature: Text.optional(),
});

export const AssistantBlock = z.discriminatedUnion("type", [TextBlock, ThinkingBlock, CallBlock]);
export type AssistantBlock = z.infer<typeof AssistantBlock>;
export type CallBlock = z.infer<typeof CallBlock>;
export const ToolBlock = z.discriminatedUnion("type", [TextBlock, ImageBlock]);
export type ToolBlock = z.infer<typeof ToolBlock>;

/** Tokens, and the price in US dollars where it is known. */
export const Usage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cost: z.number().optional(),
});
export type Usage = z.infer<typeof Usage>;

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
  return a.cost === undefined && b.cost === undefined
    ? sum
    : { ...sum, cost: (a.cost ?? 0) + (b.cost ?? 0) };
}

/** The model reasoning levels, least first. */
export const Reasoning = z.enum(["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
export type Reasoning = z.infer<typeof Reasoning>;
