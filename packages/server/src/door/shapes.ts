// The bodies and queries of the session door, as strict schemas. Commands are in `wire`.

import { EntryId, ModelQuery, Reasoning, RequestId, SessionId } from "@lichen/wire";
import * as z from "zod";

const title = z
  .string()
  .refine((value) => value.isWellFormed(), "title: not well-formed Unicode")
  .max(1_000);
const model = z
  .string()
  .refine((value) => value.isWellFormed(), "model: not well-formed Unicode")
  .min(1)
  .max(256);

export const CreateBody = z.strictObject({
  requestId: RequestId,
  session: SessionId.exactOptional(),
  title: title.exactOptional(),
  model: model.exactOptional(),
  reasoning: Reasoning.exactOptional(),
});

export const ChangeBody = z.strictObject({
  title: title.exactOptional(),
  /** null: the engine's own. */
  model: model.nullable().exactOptional(),
  reasoning: Reasoning.exactOptional(),
  leaf: EntryId.exactOptional(),
});

export const ForkBody = z.strictObject({
  requestId: RequestId,
  at: EntryId.exactOptional(),
  session: SessionId.exactOptional(),
});

export const WithdrawBody = z.strictObject({ requestId: RequestId });

export const LoginBody = z.strictObject({ token: z.string().min(1).max(512) });

/** A whole number in plain digits, between two bounds. */
const count = (name: string, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, `${name}: a whole number`)
    .transform(Number)
    .pipe(z.int().min(least).max(most));

const limit = count("limit", 1, 200).exactOptional();

export const SessionsQuery = z.strictObject({
  limit,
  before: z.string().min(1).max(1_024).exactOptional(),
});
export const ReadQuery = z.strictObject({
  limit,
  before: count("before", 1, Number.MAX_SAFE_INTEGER).exactOptional(),
});
export const DeleteQuery = z.strictObject({
  epoch: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "epoch: not an epoch")
    .exactOptional(),
});
export const SettlementQuery = z.strictObject({
  commandId: z.string().min(1).max(128),
  timeoutMs: count("timeoutMs", 0, 30_000).exactOptional(),
});
export const SearchQuery = z.strictObject({
  q: z
    .string()
    .min(1)
    .max(1_024)
    .refine((value) => value.isWellFormed(), "q: not well-formed Unicode"),
  limit,
});
export const OperationsQuery = z.strictObject({
  limit,
  after: z.string().min(1).max(1_024).exactOptional(),
});
export const ModelsQuery = z.strictObject({ q: ModelQuery.shape.q, limit });
export const HealthQuery = z.strictObject({
  challenge: z.string().exactOptional(),
  /** Whose key is to be proven by, in place of the owner's token: a device's id. */
  device: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,80}$/, "device: a device's id")
    .exactOptional(),
});
export const NoQuery = z.strictObject({});

/** `<epoch>.<seq>`, where a reader stands. */
export const Cursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}\.(0|[1-9]\d{0,14})$/, "after: a cursor <epoch>.<seq>");
export const EventsQuery = z.strictObject({ after: Cursor.exactOptional() });
