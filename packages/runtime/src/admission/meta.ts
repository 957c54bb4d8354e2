// Host metadata: what an embedding program says of who asks. No body carries it.
//
//   A20  Metadata is checked by the host's schema and is at most 4,096 bytes of canonical JSON, or nothing is admitted.
//   A21  `identityPath` names the principal inside it; a value that is missing or no string is refused.

import { canonicalJson, Fault, type JsonObject, utf8Bytes } from "@lichen/wire";
import type { Sql } from "../store/sql.ts";

/** The synchronous part of a Standard Schema (v1), which zod, valibot, arktype and others provide. */
export interface StandardSchema {
  readonly "~standard": {
    validate(
      value: unknown,
    ):
      | { readonly value: unknown; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string }[] }
      | Promise<unknown>;
  };
}

export interface MetaRules {
  readonly schema?: StandardSchema;
  /** A SQLite JSON path, such as `$.author.id`. Present: cancels are limited to the principal's own commands. */
  readonly identityPath?: string;
}

export interface Bound {
  readonly meta: JsonObject;
  readonly identity: string | undefined;
  /** An owner: whose commands they are limits no cancel, and what its devices are called is no part of what they ask. */
  readonly stopsAll: boolean;
}

const metaBytes = 4_096;

/** Checks metadata and finds the principal in it. */
export function bindMeta(
  sql: Sql,
  rules: MetaRules,
  given: JsonObject,
  { stopsAll = false }: Partial<Pick<Bound, "stopsAll">> = {},
): Bound {
  const meta = rules.schema ? checked(rules.schema, given) : given;
  const json = canonicalJson(meta);
  if (utf8Bytes(json) > metaBytes)
    throw new Fault("too_large", `Metadata may hold ${metaBytes} bytes of JSON at most.`);
  if (rules.identityPath === undefined) return { meta, identity: undefined, stopsAll };
  const [row] = sql.all<{ type: string | null; identity: string | null }>(
    "select json_type(?, ?) as type, json_extract(?, ?) as identity",
    json,
    rules.identityPath,
    json,
    rules.identityPath,
  );
  // SQLite hands out half of a surrogate pair as U+FFFD: two such names would be one.
  if (row?.type !== "text" || !row.identity || row.identity.includes("\ufffd"))
    throw new Fault(
      "invalid",
      `Metadata names no principal: ${rules.identityPath} must be a well-formed text that is not empty.`,
    );
  return { meta, identity: row.identity, stopsAll };
}

function checked(schema: StandardSchema, given: JsonObject): JsonObject {
  const result = schema["~standard"].validate(given);
  if (result instanceof Promise) {
    result.catch(() => {
      // Its answer is not wanted any more.
    });
    throw new Fault("invalid", "The metadata schema is asynchronous: give a synchronous one.");
  }
  if (result.issues)
    throw new Fault(
      "invalid",
      `Metadata does not fit its schema: ${result.issues.map((issue) => issue.message).join("; ")}`,
    );
  const { value } = result;
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new Fault("invalid", "The metadata schema must make an object.");
  return value as JsonObject;
}
