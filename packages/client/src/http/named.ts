// Names in an address: checked before they are put there, so that none can lead to another route.

import { Fault } from "@lichen/wire";

/** A schema of names, as far as this needs one. */
interface NameSchema {
  safeParse(
    value: string,
  ): { success: true; data: string } | { success: false; error: { issues: { message: string }[] } };
}

export function named(schema: NameSchema, name: string): string {
  const parsed = schema.safeParse(name);
  if (parsed.success) return encodeURIComponent(parsed.data);
  throw new Fault("invalid", parsed.error.issues[0]?.message ?? "The name is not valid.");
}
