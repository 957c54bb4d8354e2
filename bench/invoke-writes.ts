// The durable writes of one invocation as a pattern: what Lichen wrote for one new session, with its names and numbers
// replaced for the n-th.

import { isWrite, type Statement, type Transaction } from "./sql-trace.ts";

/** Row keys of entries carry their session's number above these bits. */
const span = 2 ** 30;

export interface InvokeWrites {
  readonly statements: readonly Statement[];
  readonly session: string;
  readonly key: string;
  readonly sid: number;
}

/** Takes the writes out of what was recorded for one invocation. */
export function invokeWrites(
  recorded: readonly Transaction[],
  made: { session: string; key: string; sid: number },
): InvokeWrites {
  return { statements: recorded.flat().filter(isWrite), ...made };
}

/** The same writes for the `count`-th new session after the recorded one's place; 1 is that place itself. */
export function writesOf(writes: InvokeWrites, count: number): Statement[] {
  const { session, key, sid } = writes;
  const shift = count - 1;
  const suffix = String(count).padStart(8, "0");
  const renamed = (text: string) =>
    text.replaceAll(session, `session-${suffix}`).replaceAll(key, `key${suffix}`);
  return writes.statements.map(({ text, values }) => ({
    text,
    values: values.map((value) => {
      if (typeof value === "string") return renamed(value);
      if (typeof value !== "number") return value;
      if (value === sid) return sid + shift;
      return Math.floor(value / span) === sid ? value + shift * span : value;
    }),
  }));
}
