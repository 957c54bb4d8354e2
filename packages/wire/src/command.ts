// Commands: the closed union of what a caller may ask of a session, and the receipts that answer them.

import * as z from "zod";
import { ApprovalId, CommandId, EntryId, RequestId } from "./id.ts";
import { JsonObject } from "./json.ts";

/** An image on its way in: base64 bytes. It is stored as a blob. */
export const InlineImage = z.strictObject({
  mimeType: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
  data: z.base64(),
});
export type InlineImage = z.infer<typeof InlineImage>;

export const Delivery = z.enum(["follow_up", "steer", "reject"]);
export type Delivery = z.infer<typeof Delivery>;

const requestId = RequestId;
const requireExisting = z.literal(true).optional();
const text = z.string().refine((value) => value.isWellFormed(), "text: not well-formed Unicode");

export const Command = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("prompt"),
    requestId,
    text,
    images: z.array(InlineImage).max(16).optional(),
    delivery: Delivery.optional(),
    requireExisting,
  }),
  z.strictObject({ type: z.literal("line"), requestId, text, requireExisting }),
  z.strictObject({
    type: z.literal("cancel"),
    requestId,
    commandId: CommandId,
    onlyIfPending: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal("abort"), requestId }),
  z.strictObject({
    type: z.literal("answer"),
    requestId,
    approvalId: ApprovalId,
    allow: z.boolean(),
    message: text.optional(),
    answers: JsonObject.optional(),
    input: JsonObject.optional(),
    always: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal("compact"), requestId, instructions: text.optional() }),
]);
export type Command = z.infer<typeof Command>;
export type CommandOf<T extends Command["type"]> = Extract<Command, { type: T }>;

/** What an admission answers. `replay` says that this request id had been admitted before. */
export const Receipt = z.object({
  status: z.enum(["accepted", "too_late"]),
  commandId: CommandId.optional(),
  entryId: EntryId.optional(),
  cancelled: z.array(CommandId).optional(),
  replay: z.literal(true).optional(),
});
export type Receipt = z.infer<typeof Receipt>;

/** What a withdraw answers: the admission that won, or `unknown` and a durable fence. */
export const Withdrawal = z.union([
  z.object({ status: z.literal("accepted"), commandId: z.string() }),
  z.object({ status: z.literal("unknown") }),
]);
export type Withdrawal = z.infer<typeof Withdrawal>;
