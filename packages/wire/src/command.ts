// Commands: the closed union of what a caller may ask of a session, and the receipts that answer them.

import * as z from "zod";
import { ApprovalId, CommandId, EntryId, RequestId, utf8Bytes } from "./id.ts";
import { ImageType, imageTypeOfBase64 } from "./image.ts";
import { JsonObject } from "./json.ts";

/** The most that one text, or one JSON, of a command may hold, in bytes of UTF-8. */
export const textLimitBytes = 1_048_576;
/** The most that the images of one prompt may hold together, in characters of base64. */
const imagesLimitChars = 16 * 1_048_576;

/** An issue that is refused as too large, and not as invalid. */
const tooLarge = { code: "custom", params: { fault: "too_large" } } as const;

/** The code under which an issue of a schema is refused. */
export function faultCodeOf(issue: {
  readonly code?: string | undefined;
  readonly params?: unknown;
}): "invalid" | "too_large" {
  const { params } = issue;
  const isTooLarge =
    typeof params === "object" &&
    params !== null &&
    "fault" in params &&
    params.fault === tooLarge.params.fault;
  return isTooLarge ? "too_large" : "invalid";
}

/** An image on its way in: base64 bytes that are an image of their kind. It is stored as a blob. */
export const InlineImage = z
  .strictObject({ mimeType: ImageType, data: z.base64("data: not base64") })
  .superRefine(({ mimeType, data }, context) => {
    const found = imageTypeOfBase64(data);
    if (found === mimeType) return;
    const what =
      data === ""
        ? "it holds no byte"
        : found === undefined
          ? "its bytes are of no image"
          : `its bytes are ${found}`;
    context.addIssue({
      code: "custom",
      path: ["data"],
      message: `data: not ${mimeType}: ${what}`,
    });
  });
export type InlineImage = z.infer<typeof InlineImage>;

/** The images of one prompt. */
export const InlineImages = z
  .array(InlineImage)
  .max(16)
  .superRefine((given, context) => {
    let chars = 0;
    for (const [at, { data }] of given.entries()) {
      chars += data.length;
      if (chars <= imagesLimitChars) continue;
      context.addIssue({
        ...tooLarge,
        path: [at, "data"],
        message: `data: the images of a prompt may hold ${imagesLimitChars} characters of base64 together: send fewer or smaller ones`,
      });
      return;
    }
  });

export const Delivery = z.enum(["follow_up", "steer", "reject"]);
export type Delivery = z.infer<typeof Delivery>;

const requestId = RequestId;
const requireExisting = z.literal(true).optional();

const prose = (name: string) =>
  z
    .string()
    .refine((value) => value.isWellFormed(), `${name}: not well-formed Unicode`)
    .refine((value) => isWithin(value), {
      params: tooLarge.params,
      error: `${name}: larger than ${textLimitBytes} bytes, the most it may hold`,
    });
const json = (name: string) =>
  JsonObject.refine((value) => isWithin(JSON.stringify(value)), {
    params: tooLarge.params,
    error: `${name}: larger than ${textLimitBytes} bytes of JSON, the most it may hold`,
  });

function isWithin(text: string): boolean {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= textLimitBytes) return true;
  return text.length <= textLimitBytes && utf8Bytes(text) <= textLimitBytes;
}

/** What a person writes. */
export const PromptText = prose("text");

export const Command = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("prompt"),
    requestId,
    text: PromptText,
    images: InlineImages.optional(),
    delivery: Delivery.optional(),
    requireExisting,
  }),
  z.strictObject({ type: z.literal("line"), requestId, text: PromptText, requireExisting }),
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
    message: prose("message").optional(),
    answers: json("answers").optional(),
    input: json("input").optional(),
    always: z.boolean().optional(),
    /** With a denial: the run is cancelled too. */
    interrupt: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("compact"),
    requestId,
    instructions: prose("instructions").optional(),
  }),
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
