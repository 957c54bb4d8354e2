// What a caller gave, parsed at the door of the owner, or a fault that names the field.

import { Fault, faultCodeOf } from "@lichen/wire";

interface Issue {
  readonly code?: string;
  readonly message: string;
  readonly path: readonly PropertyKey[];
  readonly keys?: readonly string[];
  readonly params?: unknown;
}

/** The one method of a schema that is used here. Not generic over the schema's own type, which compiles without end. */
export interface Parser<T> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
}

/** The parsed value, or a fault `invalid` naming the field. */
export function parsed<T>(schema: Parser<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join(".");
  const what = issue?.keys
    ? `unknown field ${issue.keys.join(", ")}: leave it out`
    : (issue?.message ?? "not valid");
  // Messages of our own schemas begin with the field's name.
  const said = what.startsWith(`${String(issue?.path.at(-1))}: `)
    ? what.slice(what.indexOf(": ") + 2)
    : what;
  throw new Fault(issue ? faultCodeOf(issue) : "invalid", path ? `${path}: ${said}` : said);
}
