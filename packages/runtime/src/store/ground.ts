// What every part of the runtime stands on: the database, the platform and the one writer of an owner.

import type { LongTexts } from "../log/long-texts.ts";
import type { Platform } from "../platform.ts";
import type { Sql } from "./sql.ts";
import type { Writer } from "./writer.ts";

export interface Ground {
  readonly sql: Sql;
  readonly platform: Platform;
  readonly writer: Writer;
  readonly texts: LongTexts;
}

/** RFC 3339 UTC with milliseconds. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}
